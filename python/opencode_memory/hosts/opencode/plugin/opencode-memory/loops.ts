// Sessions of loops: their shell, and the guard of their tools. The server decides. Without it, commands
// in the session of a loop are refused.

import { existsSync } from "node:fs"
import type { Hooks, PluginInput } from "@opencode-ai/plugin"
import type { Bridge } from "./bridge"
import type { Manifest, Params } from "./manifest"

type Confinement = { env: Record<string, string>; confined: boolean; sandboxed: boolean }

type Session = { title?: string; parentID?: string }

const MAX_SESSIONS = 1_000
const MAX_ANCESTORS = 10
const GUARD_MS = 5_000
const NO_ANSWER = "opencode-memory does not answer, so the tools of a loop are refused"
const FREE: Confinement = { env: {}, confined: false, sandboxed: false }

export function createLoops(manifest: Manifest, bridge: Bridge, input: PluginInput) {
  const known = new Map<string, Confinement>()
  let ownShell: unknown
  let isShellOurs = false

  // Whether a session, or the one that started it, has the title of a loop's session.
  const isOfLoop = async (sessionID: string): Promise<boolean> => {
    let id: string | undefined = sessionID
    for (let steps = 0; id && steps < MAX_ANCESTORS; steps++) {
      const session: Session = (await input.client.session.get({ path: { id } })).data ?? {}
      if (session.title?.startsWith(manifest.loop_title)) return true
      id = session.parentID
    }
    return false
  }

  // A session's confinement never changes, so it is asked for once.
  const confine = async (sessionID: string): Promise<Confinement> => {
    const found = known.get(sessionID)
    if (found) return found
    const answer = bridge.isReady ? await bridge.call("shell", { sessionID }, GUARD_MS) : undefined
    if (!answer) {
      if (!(await isOfLoop(sessionID))) return FREE
      throw new Error(NO_ANSWER)
    }
    const confinement = { ...FREE, ...answer } as Confinement
    if (known.size >= MAX_SESSIONS) known.delete(known.keys().next().value as string)
    known.set(sessionID, confinement)
    return confinement
  }

  const env: NonNullable<Hooks["shell.env"]> = async ({ sessionID }, output) => {
    const { env: more, sandboxed } = sessionID ? await confine(sessionID) : FREE
    if (sandboxed && !isShellOurs) {
      throw new Error("the sandbox of the loop is not active: restart OpenCode")
    }
    if (typeof ownShell === "string") output.env.OPENCODE_MEMORY_OWN_SHELL = ownShell
    Object.assign(output.env, more)
  }

  const guard = async (asked: { tool: string; sessionID: string }, args: unknown) => {
    const { sessionID, tool } = asked
    if (!(await confine(sessionID)).sandboxed) return
    const params = { sessionID, tool, arguments: (args ?? {}) as Params }
    const answer = await bridge.call("guard", params, GUARD_MS)
    if (!answer) throw new Error(NO_ANSWER)
    if (answer.refusal) throw new Error(String(answer.refusal))
  }

  // The shell of all sessions. It runs the user's own shell unless a session has a sandbox.
  const useShell = (config: Params): void => {
    if (!manifest.shell || !existsSync(manifest.shell)) return
    ownShell = config.shell
    config.shell = manifest.shell
    isShellOurs = true
  }

  return { env, guard, useShell }
}
