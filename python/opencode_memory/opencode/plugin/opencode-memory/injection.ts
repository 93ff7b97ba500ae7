// Beside each message of the user stands what was decided for it, once; the same text in every request that shows it.

import type { Hooks } from "@opencode-ai/plugin"
import type { Bridge } from "./bridge"

const PART = "prt_0opencodememory"
const MOST_DECIDED = 20_000

type Transform = NonNullable<Hooks["experimental.chat.messages.transform"]>
type Message = Parameters<Transform>[1]["messages"][number]

export function injection(bridge: Bridge) {
  const decided = new Map<string, string>()
  const compacting = new Set<string>()

  async function decide(session: string, users: Message[], all: Message[]): Promise<void> {
    const last = users[users.length - 1]
    const visible = users.map((message) => message.info.id)
    const unknown = visible.filter((id) => !decided.has(id))
    if (!last || unknown.length === 0) return
    const asked = { id: last.info.id, text: written(last) }
    const summary = all.findLast((message) => message.info.role === "assistant" && message.info.summary === true)
    const params = { sessionID: session, visible, message: asked, summary: summary && written(summary) }
    const answer = await bridge.call("messages", params)
    const blocks = (answer?.blocks ?? {}) as Record<string, string>
    for (const id of unknown) decided.set(id, blocks[id] ?? "")
    for (const id of [...decided.keys()].slice(0, Math.max(0, decided.size - MOST_DECIDED))) decided.delete(id)
    const settled = { sessionID: session, messageID: last.info.id, state: answer ? "shown" : "late" }
    if (unknown.includes(last.info.id) && (!answer || blocks[last.info.id])) bridge.tell("settled", settled)
  }

  return {
    compacting,
    async transform(all: Message[]): Promise<void> {
      const session = all[0]?.info.sessionID
      // What is summarised is sent without what was put into it.
      if (!session || compacting.delete(session)) return
      const users = all.filter((message) => message.info.role === "user")
      await decide(session, users, all)
      for (const message of users) {
        const text = decided.get(message.info.id)
        const id = `${PART}${message.info.id}`
        if (!text || message.parts.some((part) => part.id === id)) continue
        message.parts.unshift({
          id,
          messageID: message.info.id,
          sessionID: session,
          type: "text",
          text,
          synthetic: true,
        })
      }
    },
  }
}

function written(message: Message): string {
  const texts = message.parts.map((part) => (part.type === "text" && !part.synthetic ? part.text : ""))
  return texts.filter(Boolean).join("\n")
}
