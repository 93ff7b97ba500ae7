// The shell of a loop's session: the server gives its environment, so that no push leaves the machine.

import type { Hooks } from "@opencode-ai/plugin"
import type { Bridge } from "./bridge"
import type { Params } from "./manifest"

const MAX_SESSIONS = 1_000

export function createLoopShell(bridge: Bridge): NonNullable<Hooks["shell.env"]> {
  // Sessions that belong to a loop. Without the server, their commands are refused.
  const confined = new Set<string>()
  return async ({ sessionID }, output) => {
    if (!sessionID || (!bridge.isReady && !confined.has(sessionID))) return
    const answer = await bridge.call("shell", { sessionID })
    if (!answer) {
      if (!confined.has(sessionID)) return
      throw new Error("opencode-memory does not answer, so the commands of a loop are refused")
    }
    if (answer.confined === true && confined.size < MAX_SESSIONS) confined.add(sessionID)
    Object.assign(output.env, (answer.env ?? {}) as Params)
  }
}
