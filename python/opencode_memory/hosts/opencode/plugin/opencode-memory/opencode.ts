// What the server asks of OpenCode.
import type { PluginInput } from "@opencode-ai/plugin"
import type { Params } from "./manifest"

// The terminal UI opens no port; the client that plugins are given reaches every route from inside.
export async function request(input: PluginInput, params: Params): Promise<unknown> {
  type Inner = { _client: { getConfig(): { fetch: typeof fetch; baseUrl?: string } } }
  const config = (input.client as unknown as Inner)._client.getConfig()
  const base = config.baseUrl ?? "http://localhost"
  const url = new URL(String(params.path), base)
  if (url.origin !== new URL(base).origin) throw new Error("only OpenCode itself can be asked")
  url.searchParams.set("directory", input.directory)
  for (const [name, value] of Object.entries((params.query ?? {}) as Params)) url.searchParams.set(name, String(value))
  const body = params.body == null ? undefined : JSON.stringify(params.body)
  const headers = { "content-type": "application/json" }
  const response = await config.fetch(new Request(url, { method: String(params.method), headers, body }))
  return { status: response.status, body: await response.text() }
}

export async function toast(input: PluginInput, params: Params): Promise<void> {
  const variant = (params.variant ?? "info") as "info"
  await input.client.tui.showToast({ body: { title: "opencode-memory", message: String(params.message), variant } })
}
