// The read-only shell: restricts the commands of agents that only read.
//
// OpenCode's permission rules judge each command that its parser finds in a line. They miss:
// - a redirection around several commands, for example `{ git log; } > file`;
// - a redirection without a command, for example `> file`;
// - an assignment with an effect, for example `export GIT_EXTERNAL_DIFF=...`.
// Also, an "always" that the user gave in the session of another agent outranks an agent's denials.
// So a line may have only plain words and spaces. Then it is checked against the agent's own rules.

import { resolve } from "node:path"
import type { Hooks } from "@opencode-ai/plugin"

type Table = Readonly<Record<string, unknown>>
type Agent = { readonly prompt?: string; readonly permission?: Table }
export type Agents = Record<string, Agent>

// No quotes, because they can split a word and hide it, for example `--out"put"`. No wildcards,
// because a file may be named like an option.
const PLAIN = /^[\w ./:@=,%+^~-]+$/

const isTable = (value: unknown): value is Table => typeof value === "object" && value !== null
const asTable = (rule: unknown): Table => (isTable(rule) ? rule : { "*": rule })

// Apply the user's own rules to an agent. OpenCode puts an agent's rules after the user's. So an
// agent that may read could read files that the user denied to all agents. The agent's own denials
// and its list of shell commands stay.
export function mergePermissions<A extends Agent>(agent: A, userRules: unknown): A {
  if (!isTable(userRules)) return agent
  const permission: Record<string, unknown> = {}
  for (const [name, own] of Object.entries(agent.permission ?? {})) {
    permission[name] = own
    if (own === "deny" || name === "bash") continue
    for (const [pattern, rule] of Object.entries(userRules)) {
      if (!matches(pattern, name)) continue
      const rules = asTable(rule)
      permission[name] = "*" in rules ? rules : { ...asTable(permission[name]), ...rules }
    }
  }
  return { ...agent, permission }
}

// Hooks that veto shell commands. A command must run in the session's own folder. A folder below
// may be another repository, whose configuration can name programs that git runs.
export function readOnlyShell(agents: Readonly<Agents>, directory: string) {
  const readers = new Map<string, string>()
  const rulesOf = (name = ""): Table | undefined => {
    const bash = agents[name]?.permission?.bash
    return isTable(bash) ? bash : undefined
  }
  const hooks: Required<Pick<Hooks, "chat.params" | "tool.execute.before">> = {
    // OpenCode calls the model before any tool that the model requests, so the session's agent is
    // known when a tool runs.
    "chat.params": async ({ sessionID, agent, message }) => {
      // Titles and summaries have their own agents, which run in the session of another agent.
      if (agent !== message?.agent) return
      if (rulesOf(agent)) readers.set(sessionID, agent)
      else readers.delete(sessionID)
    },
    "tool.execute.before": async ({ tool, sessionID }, output) => {
      const agent = readers.get(sessionID)
      const rules = rulesOf(agent)
      if (rules === undefined || tool !== "bash") return
      const { command, workdir } = output.args ?? {}
      const isHere =
        workdir === undefined || resolve(directory, String(workdir)) === resolve(directory)
      const line = typeof command === "string" && PLAIN.test(command) ? command.trim() : ""
      const rule = Object.entries(rules).findLast(([pattern]) => matches(pattern, line))
      if (isHere && line && rule?.[1] === "allow") return
      throw new Error(describeRefusal(agent, rules))
    },
  }
  return hooks
}

function describeRefusal(agent: string | undefined, rules: Table): string {
  const commands = Object.keys(rules).filter((pattern) => rules[pattern] === "allow")
  return `The agent ${agent} only reads. In the shell it runs one command at a time, without quotes, wildcards, pipes,
redirections or variables, in the project's own folder, and without options that write: ${commands.join(", ")}.
Files are read by other tools.`
}

// Match as OpenCode does: `*` stands for any text, and ` *` at the end is optional.
function matches(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
  return new RegExp(`^${parts.join(".*").replace(/ \.\*$/, "( .*)?")}$`).test(text)
}
