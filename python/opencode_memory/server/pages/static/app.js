// Keys for the pages. All that they do can be done without them.
"use strict"

const items = () => [...document.querySelectorAll("[data-item]")]
let current = -1

function choose(step) {
  const known = items()
  if (known.length === 0) return
  unmark(known[current])
  current = Math.min(Math.max(current + step, 0), known.length - 1)
  mark(known[current])
}

function unmark(item) {
  item?.classList.remove("current")
  item?.removeAttribute("aria-current")
}

// Screen readers read the item that has the focus.
function mark(item) {
  item.classList.add("current")
  item.setAttribute("aria-current", "true")
  item.tabIndex = -1
  item.focus({ preventScroll: true })
  item.scrollIntoView({ block: "nearest" })
}

// Each page begins without a chosen item, so a key that is pressed twice decides on one item only.
function press(name) {
  const button = items()[current]?.querySelector(`[data-key="${name}"]`)
  button?.click()
  button?.closest("details")?.querySelector("textarea")?.focus()
}

const isReview = () => document.querySelector("[data-review]") !== null

const KEYS = {
  "/": () => {
    const field = document.querySelector("[data-search]")
    if (field) field.focus()
    else location.assign(new URL("search", document.querySelector("nav a").href))
  },
  "?": () => document.getElementById("keys").showModal(),
  j: () => choose(1),
  k: () => choose(-1),
  Enter: () => items()[current]?.querySelector("a")?.click(),
  x: () => items()[current]?.querySelector("input[type=checkbox]")?.click(),
  a: () => isReview() && press("accept"),
  e: () => isReview() && press("edit"),
  r: () => isReview() && press("reject"),
}

// A held key repeats on the next page. Only these two do no harm there.
const REPEATS = new Set(["j", "k"])

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, select, textarea, button, a, summary, dialog")
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return
  event.preventDefault()
  if (event.repeat && !REPEATS.has(event.key)) return
  KEYS[event.key]()
})
