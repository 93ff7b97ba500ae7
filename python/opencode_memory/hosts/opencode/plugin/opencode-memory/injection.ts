// Adds relevant memories to the user's messages. The server decides once for each message, and
// every later request shows the same text. Otherwise the provider's prompt cache would be lost.

import type { Hooks } from "@opencode-ai/plugin"
import type { Bridge } from "./bridge"

const PART = "prt_0opencodememory"
const MAX_DECIDED = 20_000
const END_CHARACTERS = 50_000

type Transform = NonNullable<Hooks["experimental.chat.messages.transform"]>
type Message = Parameters<Transform>[1]["messages"][number]

export function createInjection(bridge: Bridge) {
  // Block of each decided message by the message's id; empty if the message gets no block.
  const blocks = new Map<string, string>()
  const compacting = new Set<string>()
  // Files that OpenCode loads into the system prompt, which a block need not repeat.
  const instructions: string[] = []

  async function decide(sessionID: string, messages: Message[]): Promise<void> {
    const users = messages.filter(({ info }) => info.role === "user").map(({ info }) => info)
    const visible = users.map((info) => info.id)
    const [previous, id] = [visible.at(-2), visible.at(-1)]
    if (!id || blocks.has(id)) return
    const settle = (messageID: string, state: string, cause?: string) =>
      bridge.tell("settled", { sessionID, messageID, state, cause })
    // The connection may have broken before the server learned that the previous block was shown.
    // Then the server would show the same memories again.
    if (previous && blocks.get(previous)) settle(previous, "shown")
    const params = {
      sessionID,
      visible,
      // A fork has the same times under other ids, which tells the server where the messages come from.
      created: users.map((info) => info.time?.created ?? 0),
      message: { id, text: unansweredText(messages) },
      summary: summaryText(messages),
      instructions,
    }
    const answer = await bridge.call("messages", params, bridge.patience(sessionID))
    const offered = (answer?.blocks ?? {}) as Record<string, string>
    // Without an answer, decide this message only. The blocks of earlier messages, which were shown
    // before a restart of OpenCode, come with the next answer.
    for (const message of answer ? visible : [id]) {
      if (!blocks.has(message)) blocks.set(message, offered[message] ?? "")
    }
    const excess = Math.max(0, blocks.size - MAX_DECIDED)
    for (const message of [...blocks.keys()].slice(0, excess)) blocks.delete(message)
    if (!answer) settle(id, "late", bridge.lateness)
    else if (offered[id]) settle(id, "shown")
  }

  async function transform(messages: Message[]): Promise<void> {
    const sessionID = messages[0]?.info.sessionID
    // A session that is being compacted is summarised without our blocks. Otherwise old memories
    // would become part of the summary.
    if (!sessionID || compacting.delete(sessionID)) return
    await decide(sessionID, messages)
    for (const [index, { info, parts }] of messages.entries()) {
      const text = blocks.get(info.id)
      const id = `${PART}${info.id}`
      if (!text || parts.some((part) => part.id === id)) continue
      const type = "text" as const
      const block = { id, messageID: info.id, sessionID, type, text, synthetic: true }
      // Replace the message with a copy: OpenCode derives the session's title from the same objects
      // at the same time.
      messages[index] = { info, parts: [block, ...parts] }
    }
  }

  return { compacting, instructions, transform }
}

// Prompts queue up while a turn runs, and the model gets them together. So their texts are joined.
function unansweredText(messages: Message[]): string {
  const start = messages.findLastIndex(({ info }) => info.role === "assistant") + 1
  return messages.slice(start).reverse().map(typedText).filter(Boolean).join("\n")
}

function summaryText(messages: Message[]): string | undefined {
  const summary = messages.findLast(
    ({ info }) => info.role === "assistant" && info.summary === true,
  )
  return summary && typedText(summary)
}

// Both ends are enough: the server does not read more of a long text.
function typedText({ parts }: Message): string {
  const texts = parts.map((part) => (part.type === "text" && !part.synthetic ? part.text : ""))
  const text = texts.filter(Boolean).join("\n")
  if (text.length <= 2 * END_CHARACTERS) return text
  return `${text.slice(0, END_CHARACTERS)}\n${text.slice(-END_CHARACTERS)}`
}
