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
  first_deadline_ms: number
  mcp: { name: string; config: { url: string } } | null
  command: Record<string, { template: string }>
  agent: Record<string, Agent>
  hidden_agent?: Record<string, Agent>
  loop_title: string
  shell: string | null
  tool: Record<string, { description: string; args: { properties?: Record<string, unknown> } }>
}

const START_PAUSE_MS = 20_000

// Shared by all instances of the plugin: OpenCode creates one for each folder, and together they
// start the server once.
let startedAt = Number.NEGATIVE_INFINITY
let started = Promise.resolve(false)

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

// Start the server. Resolves to whether it runs: the command ends when the server answers.
export function startServer(manifest: Manifest): Promise<boolean> {
  const [program, ...rest] = manifest.start
  if (!program) return Promise.resolve(false)
  const now = performance.now()
  if (now - startedAt < START_PAUSE_MS) return started
  startedAt = now
  started = new Promise((resolve) => {
    // The server outlives OpenCode, so it must not keep OpenCode's folder or pipes open.
    const child = spawn(program, rest, { detached: true, stdio: "ignore", cwd: "/" })
    child.on("error", () => resolve(false))
    child.on("exit", (code) => resolve(code === 0))
    child.unref()
  })
  return started
}
