// Loads the plugin as OpenCode does and calls its hooks as a test says, a line of JSON each; answers with a line each.
import { createInterface } from "node:readline"

const [, , plugin, directory] = process.argv
const parents: Record<string, string> = {}
const toasts: unknown[] = []

async function answer(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname
  if (path === "/mcp") return Response.json({})
  const id = path.split("/").pop() ?? ""
  return Response.json({ id, parentID: parents[id] })
}

const client = {
  _client: { getConfig: () => ({ fetch: answer, baseUrl: "http://localhost:4096" }) },
  tui: { showToast: async (toast: unknown) => toasts.push(toast) },
}
const loaded = await import(plugin)
const hooks = await loaded.default.server({ client, directory, worktree: directory, project: { id: "p" } })

const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`)
say({ exports: Object.keys(loaded), shape: Object.keys(loaded.default), hooks: Object.keys(hooks), version2: loaded.default.setup({}) ?? null })

for await (const line of createInterface({ input: process.stdin })) {
  const { hook, input, output } = JSON.parse(line)
  const begun = performance.now()
  let failed: string | undefined
  try {
    if (hook === "toasts") Object.assign(output, { toasts })
    else if (hook === "parent") parents[input.child] = input.parent
    else if (hook === "dispose") await hooks.dispose()
    else if (hook === "config" || hook === "event") await hooks[hook](input)
    else if (hook.startsWith("tool:")) Object.assign(output, { text: await hooks.tool[hook.slice(5)].execute(input, output) })
    else await hooks[hook](input, output)
  } catch (error) {
    failed = String(error)
  }
  say({ ms: performance.now() - begun, input, output, failed })
}
