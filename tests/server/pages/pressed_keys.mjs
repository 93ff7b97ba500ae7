// Runs the script of the pages on a list of three items, presses keys, and prints what was clicked as JSON.
//
// node pressed_keys.mjs SCRIPT KEYS: the script, and the keys as JSON. "held a" is a repetition of the held key.

import { readFileSync } from "node:fs"
import vm from "node:vm"

const [script, keys] = process.argv.slice(2)
const clicked = []
let press

function item(number) {
  const attributes = new Map()
  return {
    attributes,
    classList: { add() {}, remove() {} },
    setAttribute: (name, value) => attributes.set(name, value),
    removeAttribute: (name) => attributes.delete(name),
    querySelector: (selector) => ({ click: () => clicked.push(`${selector} ${number}`), closest: () => null }),
    scrollIntoView() {},
    focus() {
      document.activeElement = this
    },
  }
}

const list = [item(0), item(1), item(2)]
const document = {
  activeElement: null,
  querySelectorAll: () => list,
  querySelector: () => ({}),
  addEventListener: (_, listener) => {
    press = listener
  },
}
vm.runInNewContext(readFileSync(script, "utf8"), { document })
for (const name of JSON.parse(keys)) {
  const key = name.replace("held ", "")
  press({ key, repeat: key !== name, target: { closest: () => null }, preventDefault() {} })
}
const chosen = list.map((one) => one.attributes.get("aria-current") === "true")
console.log(JSON.stringify({ clicked, chosen, focused: list.indexOf(document.activeElement) }))
