// Requests of the server to OpenCode.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Params } from "./manifest"

// Call a route of OpenCode's API. The terminal UI opens no port, but the client that OpenCode gives
// to plugins reaches every route within the process. Its headers hold the password, if there is one.
export async function request(input: PluginInput, params: Params): Promise<unknown> {
  type Config = {
    fetch: typeof fetch
    baseUrl?: string
    headers?: ConstructorParameters<typeof Headers>[0]
  }
  type Inner = { _client: { getConfig(): Config } }
  const config = (input.client as unknown as Inner)._client.getConfig()
  const base = config.baseUrl ?? "http://localhost"
  const url = new URL(String(params.path), base)
  if (url.origin !== new URL(base).origin) {
    throw new Error("the path leads to another host; only OpenCode itself can be called")
  }
  url.searchParams.set("directory", input.directory)
  for (const [name, value] of Object.entries((params.query ?? {}) as Params)) {
    url.searchParams.set(name, String(value))
  }
  const body = params.body == null ? undefined : JSON.stringify(params.body)
  const headers = new Headers(config.headers)
  headers.set("content-type", "application/json")
  const response = await config.fetch(
    new Request(url, { method: String(params.method), headers, body }),
  )
  return { status: response.status, body: await response.text() }
}

// Show a short message on OpenCode's screen.
export async function toast(input: PluginInput, params: Params): Promise<void> {
  const variant = (params.variant ?? "info") as "info"
  await input.client.tui.showToast({
    body: { title: "opencode-memory", message: String(params.message), variant },
  })
}
