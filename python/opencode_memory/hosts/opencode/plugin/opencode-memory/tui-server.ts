// Requests of OpenCode's terminal to the server, with the token that only the user can read.

import { readFileSync } from "node:fs"

const ANSWER_MS = 1_500

type Values = Record<string, unknown>

type Api = {
  state: { path: { directory: string } }
  ui: {
    dialog: { clear: () => void }
    toast: (message: { variant: string; message: string }) => void
  }
}

export type Ask = (path: string, method: string, body?: unknown, query?: Values) => Promise<Values>

function readManifest() {
  try {
    return JSON.parse(readFileSync(new URL("../opencode-memory.json", import.meta.url), "utf8"))
  } catch {
    return undefined
  }
}

// A function that asks the server about the folder of the terminal; undefined if the plugin is not installed.
export function connect(api: Api): Ask | undefined {
  const manifest = readManifest()
  if (!manifest) return undefined
  return async (path, method, body, query = {}) => {
    const token = readFileSync(manifest.token_file, "utf8").trim()
    const headers = { Authorization: `Bearer ${token}`, "content-type": "application/json" }
    const url = new URL(path, manifest.url)
    url.searchParams.set("directory", api.state.path.directory)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    const content = body === undefined ? undefined : JSON.stringify(body)
    const signal = AbortSignal.timeout(ANSWER_MS)
    const answer = await fetch(url, { method, headers, signal, body: content })
    return (await answer.json()) as Values
  }
}

// Do what the user chose, and say what the server did.
export async function act(api: Api, ask: Ask, path: string, body: Values): Promise<void> {
  let message = "opencode-memory does not answer"
  let variant = "error"
  try {
    const answer = await ask(path, "POST", body)
    message = String(answer.said ?? answer.error ?? message)
    variant = answer.error ? "error" : "info"
  } catch {}
  api.ui.dialog.clear()
  api.ui.toast({ variant, message })
}
