// The manifest that `opencode-memory setup` wrote beside the plugin: the server's address, the
// command that starts the server, and the agents, commands and tools for OpenCode.

import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"

export type Params = Record<string, unknown>

type Agent = { prompt: string; permission?: Record<string, unknown> }

export interface Manifest {
  version: string
  protocol: number
  start: string[]
  url: string
  token_file: string
  deadline_ms: number
  mcp: { name: string; config: { url: string } } | null
  command: Record<string, { template: string }>
  agent: Record<string, Agent>
  hidden_agent?: Record<string, Agent>
  tool: Record<string, { description: string; args: { properties?: Record<string, unknown> } }>
}

const START_PAUSE_MS = 20_000

// Shared by all instances of the plugin: OpenCode creates one for each folder, and together they
// start the server once.
let startedAt = 0

export function readManifest(beside: string): Manifest | undefined {
  try {
    const manifest = JSON.parse(readFileSync(new URL("./opencode-memory.json", beside), "utf8"))
    return URL.canParse(manifest.url) ? manifest : undefined
  } catch {
    return undefined
  }
}

// Returns no header if there is no token yet: the server creates the file when it first runs.
export function authorization(manifest: Manifest): Record<string, string> {
  try {
    return { Authorization: `Bearer ${readFileSync(manifest.token_file, "utf8").trim()}` }
  } catch {
    return {}
  }
}

// Whether the server accepts connections but does not answer in time.
export async function isHanging(manifest: Manifest): Promise<boolean> {
  try {
    await fetch(`${manifest.url}/health`, { signal: AbortSignal.timeout(manifest.deadline_ms) })
    return false
  } catch (error) {
    return (error as Error).name === "TimeoutError"
  }
}

export function startServer(manifest: Manifest): void {
  const [program, ...rest] = manifest.start
  if (!program || Date.now() - startedAt < START_PAUSE_MS) return
  startedAt = Date.now()
  // The server outlives OpenCode, so it must not keep OpenCode's folder or pipes open.
  const child = spawn(program, rest, { detached: true, stdio: "ignore", cwd: "/" })
  child.on("error", () => {})
  child.unref()
}
