// Beside each message of the user stands what was decided for it, once; the same text in every request that shows it.

import type { Hooks } from "@opencode-ai/plugin"
import type { Bridge } from "./bridge"

const PART = "prt_0opencodememory"
const MOST_DECIDED = 20_000
const END_CHARACTERS = 50_000

type Transform = NonNullable<Hooks["experimental.chat.messages.transform"]>
type Message = Parameters<Transform>[1]["messages"][number]

export function injection(bridge: Bridge) {
  const decided = new Map<string, string>()
  const compacting = new Set<string>()

  async function decide(sessionID: string, all: Message[]): Promise<void> {
    const visible = all.filter(({ info }) => info.role === "user").map(({ info }) => info.id)
    const [before, id] = [visible.at(-2), visible.at(-1)]
    if (!id || decided.has(id)) return
    const settle = (messageID: string, state: string) => bridge.tell("settled", { sessionID, messageID, state })
    // That it was shown may have been lost with the connection, and it would be shown again.
    if (before && decided.get(before)) settle(before, "shown")
    // Prompts queue up while a turn runs, and the model gets them together.
    const open = all.slice(all.findLastIndex(({ info }) => info.role === "assistant") + 1)
    const text = open.reverse().map(written).filter(Boolean).join("\n")
    const summary = all.findLast(({ info }) => info.role === "assistant" && info.summary === true)
    const params = { sessionID, visible, message: { id, text }, summary: summary && written(summary) }
    const answer = await bridge.call("messages", params)
    const blocks = (answer?.blocks ?? {}) as Record<string, string>
    // Without an answer only this one is settled; those that were shown before a restart come back with the next answer.
    for (const one of answer ? visible : [id]) if (!decided.has(one)) decided.set(one, blocks[one] ?? "")
    for (const old of [...decided.keys()].slice(0, Math.max(0, decided.size - MOST_DECIDED))) decided.delete(old)
    if (!answer || blocks[id]) settle(id, answer ? "shown" : "late")
  }

  return {
    compacting,
    async transform(all: Message[]): Promise<void> {
      const sessionID = all[0]?.info.sessionID
      // What is summarised is sent without what was put into it.
      if (!sessionID || compacting.delete(sessionID)) return
      await decide(sessionID, all)
      for (const [place, { info, parts }] of all.entries()) {
        const text = decided.get(info.id)
        const id = `${PART}${info.id}`
        if (!text || parts.some((part) => part.id === id)) continue
        // A copy: OpenCode makes a title of the same messages meanwhile.
        const block = { id, messageID: info.id, sessionID, type: "text" as const, text, synthetic: true }
        all[place] = { info, parts: [block, ...parts] }
      }
    },
  }
}

// The server reads no more than both ends.
function written({ parts }: Message): string {
  const texts = parts.map((part) => (part.type === "text" && !part.synthetic ? part.text : ""))
  const text = texts.filter(Boolean).join("\n")
  return text.length > 2 * END_CHARACTERS ? `${text.slice(0, END_CHARACTERS)}\n${text.slice(-END_CHARACTERS)}` : text
}
