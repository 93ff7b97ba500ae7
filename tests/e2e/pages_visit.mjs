// Visits the pages in Chromium, does what a person would do there, and prints what was seen as JSON.
//
// node pages_visit.mjs TOOLS CHROMIUM LINK FOLDER: the packages, the browser, the link to open, and where screenshots go.

import { createRequire } from "node:module"
import path from "node:path"
import { readFileSync } from "node:fs"

const [tools, chromium, link, folder] = process.argv.slice(2)
const require = createRequire(path.join(tools, "package.json"))
const playwright = require("playwright-core")
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8")
const origin = new URL(link).origin
const seen = { problems: [], requests: [], errors: [], overflow: [] }

const browser = await playwright.chromium.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
})

async function open(options) {
  // The policy of the pages forbids scripts of others, also that of the checks.
  const context = await browser.newContext({ bypassCSP: true, ...options })
  const page = await context.newPage()
  page.on("request", (request) => seen.requests.push(request.url()))
  page.on("pageerror", (error) => seen.errors.push(String(error)))
  return page
}

async function check(page, name) {
  await page.evaluate(axe)
  const found = await page.evaluate(() => window.axe.run(document))
  for (const { id, impact, nodes } of found.violations) {
    seen.problems.push({ name, id, impact, where: nodes[0].html.slice(0, 200) })
  }
  const isWide = await page.evaluate(
    () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
  )
  if (isWide) seen.overflow.push(name)
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true })
}

const PAGES = ["", "search?q=deploy", "timeline", "map", "review", "log", "sessions", "projects", "health"]
const page = await open({ colorScheme: "light", viewport: { width: 1000, height: 800 } })
await page.goto(link)
const cookies = await page.context().cookies()
for (const [scheme, width] of [
  ["light", 1000],
  ["dark", 1000],
  ["light", 360],
]) {
  await page.emulateMedia({ colorScheme: scheme })
  await page.setViewportSize({ width, height: 800 })
  for (const name of PAGES) {
    await page.goto(`${origin}/ui/${name}`)
    await check(page, `${name.replace(/\W.*/, "") || "newest"}-${scheme}-${width}`)
  }
  await page.goto(`${origin}/ui/`)
  await page.locator("a.text").first().click()
  await page.locator("details summary").first().click()
  await check(page, `memory-${scheme}-${width}`)
}
await page.setViewportSize({ width: 1000, height: 800 })

// The keys.
await page.goto(`${origin}/ui/`)
await page.keyboard.press("j")
await page.keyboard.press("j")
await page.keyboard.press("Enter")
await page.waitForURL("**/memories/**")
seen.opened = await page.locator(".whole").first().innerText()
await page.goto(`${origin}/ui/`)
await page.keyboard.press("/")
await page.waitForURL("**/search")
await page.waitForSelector("[data-search]:focus")
await page.keyboard.type("deploy")
await page.keyboard.press("Enter")
await page.waitForURL("**/search?q=deploy*")
seen.found = await page.locator("a.text").first().innerText()

// Review with one key each.
await page.goto(`${origin}/ui/review`)
seen.waiting = await page.locator("[data-item]").count()
await page.keyboard.press("a")
await page.keyboard.press("j")
seen.chosen = await page.evaluate(() => document.activeElement.getAttribute("aria-current"))
await check(page, "review-chosen")
await page.keyboard.press("a")
await page.waitForSelector(".said")
seen.accepted = await page.locator(".said").innerText()
await page.keyboard.press("j")
await page.keyboard.press("r")
await page.waitForFunction(() => document.querySelector(".said")?.innerText.includes("Rejected"))
await page.keyboard.press("j")
await page.keyboard.press("e")
await page.keyboard.press("Control+a")
await page.keyboard.type("Answer in one sentence.")
await page.getByRole("button", { name: "Accept in these words" }).click()
await page.waitForFunction(() => document.querySelector(".said")?.innerText.includes("your words"))

// Several at once, and undo.
await page.goto(`${origin}/ui/`)
await page.keyboard.press("j")
await page.keyboard.press("x")
await page.keyboard.press("j")
await page.keyboard.press("x")
await page.getByRole("button", { name: "Preview" }).click()
seen.preview = await page.locator("h1").innerText()
await page.getByRole("button", { name: "Archive" }).click()
await page.waitForSelector(".said")
seen.done = await page.locator(".said span").innerText()
await page.getByRole("button", { name: "Undo" }).first().click()
await page.waitForFunction(() => document.querySelector(".said")?.innerText.includes("Undone"))

// Without JavaScript.
const plain = await open({ javaScriptEnabled: false })
await plain.context().addCookies(cookies)
await plain.goto(`${origin}/ui/`)
await plain.locator("a.text").first().click()
await plain.getByRole("button", { name: "Pin", exact: true }).click()
seen.plain = await plain.locator(".said span").innerText()

await browser.close()
seen.requests = [...new Set(seen.requests.map((url) => new URL(url).origin))]
console.log(JSON.stringify(seen))
