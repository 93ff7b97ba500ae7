// What `opencode-memory setup` wrote beside the plugin: where the server is, how it is started, and what OpenCode is given.

import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"

export type Params = Record<string, unknown>

export interface Manifest {
  version: string
  protocol: number
  start: string[]
  url: string
  token_file: string
  deadline_ms: number
  mcp: { name: string; config: { url: string } } | null
  command: Record<string, { template: string }>
  agent: Record<string, { prompt: string; permission?: Record<string, unknown> }>
  tool: Record<string, { description: string; args: { properties?: Record<string, unknown> } }>
}

// One process of OpenCode has an instance of the plugin for each folder; they start the server once.
let startedAt = 0

export function readManifest(beside: string): Manifest | undefined {
  try {
    const manifest = JSON.parse(readFileSync(new URL("./opencode-memory.json", beside), "utf8"))
    return URL.canParse(manifest.url) ? manifest : undefined
  } catch {
    return undefined
  }
}

// The server makes the file when it first runs.
export function authorization(manifest: Manifest): Record<string, string> {
  try {
    return { Authorization: `Bearer ${readFileSync(manifest.token_file, "utf8").trim()}` }
  } catch {
    return {}
  }
}

export function hangs(manifest: Manifest): Promise<boolean> {
  const asked = fetch(`${manifest.url}/health`, { signal: AbortSignal.timeout(manifest.deadline_ms) })
  return asked.then(() => false, (error: Error) => error.name === "TimeoutError") // biome-ignore format: one thought
}

export function start(manifest: Manifest): void {
  const [program, ...rest] = manifest.start
  if (!program || Date.now() - startedAt < 20_000) return
  startedAt = Date.now()
  // It outlives OpenCode, and holds nothing of it.
  const child = spawn(program, rest, { detached: true, stdio: "ignore", cwd: "/" })
  child.on("error", () => {})
  child.unref()
}
