// What the permission rules of agents that only read cannot say by themselves.
//
// OpenCode's rules judge each command that its parser finds in a line, and so never see a redirection around several
// (`{ git log; } > file`), one without a command (`> file`), or what has an effect without being a command
// (`export GIT_EXTERNAL_DIFF=...`); and an "always" that the user gave in the session of another agent outranks an agent's
// denials. So a line is refused here unless it is words and spaces, and then asked about by the agent's own rules.
import { resolve } from "node:path"
import type { Hooks } from "@opencode-ai/plugin"

type Table = Readonly<Record<string, unknown>>
type Agent = { readonly prompt?: string; readonly permission?: Table }
export type Agents = Record<string, Agent>

// No quotes, which can be put inside a word to hide it; no wildcards, since a file may be called like an option.
const PLAIN = /^[\w ./:@=,%+^~-]+$/

const isTable = (value: unknown): value is Table => typeof value === "object" && value !== null
const asTable = (said: unknown): Table => (isTable(said) ? said : { "*": said })

// OpenCode puts an agent's rules after the user's own, so an agent that may read would read what is denied to all of them.
// What the agent is denied stays so, and its list of commands is its own.
export function keepingTheirs<A extends Agent>(agent: A, theirs: unknown): A {
  if (!isTable(theirs)) return agent
  const permission: Record<string, unknown> = {}
  for (const [name, ours] of Object.entries(agent.permission ?? {})) {
    permission[name] = ours
    if (ours === "deny" || name === "bash") continue
    for (const [pattern, said] of Object.entries(theirs)) {
      if (!matches(pattern, name)) continue
      const rules = asTable(said)
      permission[name] = "*" in rules ? rules : { ...asTable(permission[name]), ...rules }
    }
  }
  return { ...agent, permission }
}

// Hooks that veto. A command is not run outside of the session's folder: a folder inside may be a repository of its own,
// whose configuration names programs that git runs.
export function readingShell(agents: Readonly<Agents>, directory: string) {
  const readers = new Map<string, string>()
  const listOf = (name = ""): Table | undefined => {
    const bash = agents[name]?.permission?.bash
    return isTable(bash) ? bash : undefined
  }
  const hooks: Required<Pick<Hooks, "chat.params" | "tool.execute.before">> = {
    // A call of the model comes before the tools that it asks for, so the agent of a session is known by then.
    "chat.params": async ({ sessionID, agent, message }) => {
      // Titles and summaries are made by agents of their own, in the middle of the session of another.
      if (agent !== message?.agent) return
      if (listOf(agent)) readers.set(sessionID, agent)
      else readers.delete(sessionID)
    },
    "tool.execute.before": async ({ tool, sessionID }, output) => {
      const agent = readers.get(sessionID)
      const list = listOf(agent)
      if (list === undefined || tool !== "bash") return
      const { command, workdir } = output.args ?? {}
      const here = workdir === undefined || resolve(directory, String(workdir)) === resolve(directory)
      const line = typeof command === "string" && PLAIN.test(command) ? command.trim() : ""
      const rule = Object.entries(list).findLast(([pattern]) => matches(pattern, line))
      if (here && line && rule?.[1] === "allow") return
      throw new Error(refusal(agent, list))
    },
  }
  return hooks
}

function refusal(agent: string | undefined, list: Table): string {
  const commands = Object.keys(list).filter((pattern) => list[pattern] === "allow")
  return `The agent ${agent} only reads. In the shell it runs one command at a time, without quotes, wildcards, pipes,
redirections or variables, in the project's own folder, and without options that write: ${commands.join(", ")}.
Files are read by other tools.`
}

// As OpenCode matches: `*` is anything, and ` *` at the end may be absent.
function matches(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
  return new RegExp(`^${parts.join(".*").replace(/ \.\*$/, "( .*)?")}$`).test(text)
}
