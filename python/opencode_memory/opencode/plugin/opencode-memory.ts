// opencode-memory inside OpenCode. It forwards what happens and applies what comes back; what that is, the server decides.
//
// A session never breaks or waits because memory is down: every hook catches what it does and has a deadline, and without
// the server each of them does nothing. What the server said of a message is kept, so that it stays byte for byte the same
// in every later request of the session. The manifest beside this file is written by `opencode-memory setup`.

import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import type { Hooks, PluginInput } from "@opencode-ai/plugin"

type Params = Record<string, unknown>
type Answer = Record<string, unknown> | undefined
type Schema = { properties?: Record<string, unknown> }

interface Manifest {
  version: string
  protocol: number
  start: string[]
  url: string
  token_file: string
  deadline_ms: number
  mcp: { name: string; config: { url: string; headers?: Record<string, string> } } | null
  command: Record<string, unknown>
  agent: Record<string, unknown>
  tool: Record<string, { description: string; args: Schema }>
}

const PART = "prt_0opencodememory"
const FLUSH_MS = 50
const DISPOSE_MS = 900
const TOOL_MS = 30_000
const COMMAND_DEADLINES = 10
const HELLO_MS = 5_000
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 30_000
const START_EVERY_MS = 20_000
const MOST_QUEUED = 5_000
const MOST_UNSENT_BYTES = 16_000_000
const MOST_DECIDED = 20_000

// One process of OpenCode has an instance of the plugin for each folder; they start the server once.
let startedAt = 0

class Bridge {
  private socket: WebSocket | undefined
  private isReady = false
  private isClosed = false
  private pause = FIRST_PAUSE_MS
  private timer: ReturnType<typeof setTimeout> | undefined
  private number = 0
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  private events: unknown[] = []
  private told: [string, Params][] = []
  types = new Set<string>()
  deadline: number

  constructor(
    private readonly manifest: Manifest,
    private readonly input: PluginInput,
  ) {
    this.deadline = manifest.deadline_ms
    this.connect()
  }

  // Ask the server; undefined when it is not there or not quick enough.
  call(method: string, params: Params, ms = this.deadline): Promise<Answer> {
    if (!this.isReady) return Promise.resolve(undefined)
    this.flush()
    return this.request(method, params, ms)
  }

  // Tell the server, now or when it is back.
  tell(method: string, params: Params): void {
    if (this.told.push([method, params]) > MOST_QUEUED) this.told.shift()
    this.flushSoon()
  }

  forward(event: { type: string; properties?: unknown }): void {
    if (!this.types.has(event.type)) return
    // Half of a message must never be taken for all of it: what is too much goes altogether, and the connection with it.
    if (this.events.push({ type: event.type, properties: event.properties }) > MOST_QUEUED) {
      this.events = []
      if (this.isReady) this.socket?.close()
    }
    this.flushSoon()
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    if (this.isReady) await this.call("flush", {}, DISPOSE_MS)
    this.socket?.close()
  }

  private connect(): void {
    this.timer = undefined
    if (this.isClosed) return
    let socket: WebSocket
    try {
      const headers = { Authorization: `Bearer ${token(this.manifest)}` }
      const address = `${this.manifest.url.replace(/^http/, "ws")}/bridge`
      // Headers are Bun's own; the type knows browsers only.
      socket = new WebSocket(address, { headers } as unknown as string[])
    } catch {
      this.lost()
      return
    }
    this.socket = socket
    socket.onopen = () => void this.greet(socket).catch(() => socket.close())
    socket.onmessage = (message) => this.take(socket, String(message.data))
    socket.onerror = () => {}
    socket.onclose = () => {
      if (this.socket === socket) this.lost()
    }
  }

  private lost(): void {
    const wasReady = this.isReady
    this.isReady = false
    this.socket = undefined
    for (const answer of this.waiting.values()) answer(undefined)
    this.waiting.clear()
    if (this.isClosed) return
    if (wasReady) this.pause = FIRST_PAUSE_MS
    else start(this.manifest)
    this.timer = setTimeout(() => this.connect(), this.pause)
    this.timer.unref?.()
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS)
  }

  private async greet(socket: WebSocket): Promise<void> {
    const { version, protocol } = this.manifest
    const params = { protocol, version, directory: this.input.directory, pid: process.pid }
    const answer = await this.request("hello", params, HELLO_MS)
    if (!answer) return socket.close()
    if (answer.refused) {
      this.isClosed = true
      socket.close()
      return toast(this.input, { message: String(answer.notice), variant: "warning" })
    }
    this.types = new Set(answer.events as string[])
    this.deadline = Number(answer.deadline_ms) || this.deadline
    this.pause = FIRST_PAUSE_MS
    this.isReady = true
    this.flush()
  }

  private request(method: string, params: Params, ms: number): Promise<Answer> {
    const id = ++this.number
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), ms)
      const settle = (answer: Answer) => {
        clearTimeout(timer)
        this.waiting.delete(id)
        resolve(answer)
      }
      this.waiting.set(id, settle)
      this.send({ id, method, params })
    })
  }

  private take(socket: WebSocket, text: string): void {
    const message = JSON.parse(text)
    if (typeof message.method === "string") {
      const answer = (rest: object) => this.socket === socket && this.send({ id: message.id, ...rest })
      serve(this, this.input, message.method, message.params ?? {}).then(
        (result) => answer({ result }),
        (error) => answer({ error: { code: -32000, message: String(error) } }),
      )
      return
    }
    this.waiting.get(message.id)?.(message.error ? undefined : (message.result ?? undefined))
  }

  private flushSoon(): void {
    if (!this.isReady || this.timer) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      this.flush()
    }, FLUSH_MS)
    this.timer.unref?.()
  }

  private flush(): void {
    if (!this.isReady || (this.socket?.bufferedAmount ?? 0) > MOST_UNSENT_BYTES) return
    for (const [method, params] of this.told.splice(0)) this.send({ method, params })
    if (this.events.length === 0) return
    this.send({ method: "events", params: { directory: this.input.directory, events: this.events } })
    this.events = []
  }

  private send(message: object): void {
    this.socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message }))
  }
}

// What the server asks of OpenCode.
async function serve(bridge: Bridge, input: PluginInput, method: string, params: Params): Promise<unknown> {
  if (method === "oc.request") return await request(input, params)
  if (method === "oc.subscribe") bridge.types = new Set(params.types as string[])
  else if (method === "toast") await toast(input, params)
  else throw new Error(`there is no method ${method}`)
  return {}
}

// The terminal UI opens no port; the client that plugins are given reaches every route from inside.
async function request(input: PluginInput, params: Params): Promise<unknown> {
  type Inner = { _client: { getConfig(): { fetch: typeof fetch; baseUrl?: string } } }
  const config = (input.client as unknown as Inner)._client.getConfig()
  const base = config.baseUrl ?? "http://localhost"
  const url = new URL(String(params.path), base)
  if (url.origin !== new URL(base).origin) throw new Error("only OpenCode itself can be asked")
  url.searchParams.set("directory", input.directory)
  for (const [name, value] of Object.entries((params.query ?? {}) as Params)) url.searchParams.set(name, String(value))
  const body = params.body == null ? undefined : JSON.stringify(params.body)
  const headers = { "content-type": "application/json" }
  const response = await config.fetch(new Request(url, { method: String(params.method), headers, body }))
  return { status: response.status, body: await response.text() }
}

async function toast(input: PluginInput, params: Params): Promise<void> {
  const variant = (params.variant ?? "info") as "info"
  await input.client.tui.showToast({ body: { title: "opencode-memory", message: String(params.message), variant } })
}

function token(manifest: Manifest): string {
  return readFileSync(manifest.token_file, "utf8").trim()
}

function start(manifest: Manifest): void {
  const [program, ...rest] = manifest.start
  if (!program || Date.now() - startedAt < START_EVERY_MS) return
  startedAt = Date.now()
  // It outlives OpenCode, and holds nothing of it.
  const child = spawn(program, rest, { detached: true, stdio: "ignore", cwd: "/" })
  child.on("error", () => {})
  child.unref()
}

// Beside each message of the user stands what was decided for it, once; the same text in every request that shows it.
function injection(bridge: Bridge) {
  const decided = new Map<string, string>()
  const compacting = new Set<string>()
  type Transform = NonNullable<Hooks["experimental.chat.messages.transform"]>
  type Message = Parameters<Transform>[1]["messages"][number]

  async function decide(session: string, users: Message[], all: Message[]): Promise<void> {
    const last = users[users.length - 1]
    const visible = users.map((message) => message.info.id)
    const unknown = visible.filter((id) => !decided.has(id))
    if (!last || unknown.length === 0) return
    const agent = "agent" in last.info ? last.info.agent : ""
    const asked = { id: last.info.id, text: written(last) }
    const summary = all.findLast((message) => message.info.role === "assistant" && message.info.summary === true)
    const params = { sessionID: session, agent, visible, message: asked, summary: summary && written(summary) }
    const answer = await bridge.call("messages", params)
    const blocks = (answer?.blocks ?? {}) as Record<string, string>
    for (const id of unknown) decided.set(id, blocks[id] ?? "")
    for (const id of [...decided.keys()].slice(0, Math.max(0, decided.size - MOST_DECIDED))) decided.delete(id)
    if (!unknown.includes(last.info.id)) return
    const state = answer ? "shown" : "late"
    if (!answer || blocks[last.info.id]) {
      bridge.tell("settled", { sessionID: session, messageID: last.info.id, state })
    }
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
        const place = { id, messageID: message.info.id, sessionID: session }
        message.parts.unshift({ ...place, type: "text", text, synthetic: true })
      }
    },
  }

  function written(message: Message): string {
    const texts = message.parts.map((part) => (part.type === "text" && !part.synthetic ? part.text : ""))
    return texts.filter(Boolean).join("\n")
  }
}

function tools(manifest: Manifest, bridge: Bridge): NonNullable<Hooks["tool"]> {
  type Tools = NonNullable<Hooks["tool"]>
  type Context = { sessionID: string; messageID: string; agent: string }
  const made = Object.entries(manifest.tool).map(([name, { description, args }]) => {
    const execute = async (given: Params, context: Context): Promise<string> => {
      const { sessionID, messageID, agent } = context
      const params = { sessionID, messageID, agent, tool: name, arguments: given }
      const answer = await bridge.call("tool", params, TOOL_MS)
      if (!answer) throw new Error("opencode-memory does not answer, so nothing is known of what came of this")
      if (answer.is_error) throw new Error(String(answer.text))
      return String(answer.text)
    }
    return [name, { description, args: args.properties ?? {}, execute }]
  })
  return Object.fromEntries(made) as Tools
}

// What the user has is never replaced.
function configure(manifest: Manifest, config: Record<string, unknown>): void {
  const own = (key: string) => {
    if (typeof config[key] !== "object" || config[key] === null) config[key] = {}
    return config[key] as Record<string, unknown>
  }
  for (const key of ["command", "agent"] as const) {
    const there = own(key)
    for (const [name, value] of Object.entries(manifest[key])) there[name] ??= value
  }
  if (!manifest.mcp) return
  const there = own("mcp")
  const { name, config: entry } = manifest.mcp
  const isThere = Object.values(there).some((other) => (other as { url?: unknown } | null)?.url === entry.url)
  if (isThere || there[name]) return
  const headers = { ...entry.headers }
  try {
    headers.Authorization = `Bearer ${token(manifest)}`
  } catch {
    // The server has not run yet; it makes the file, and wants nothing of it where it can tell who asks.
  }
  there[name] = { ...entry, headers }
}

// Whatever goes wrong in a hook stays there: OpenCode would end the turn. Without memory the session goes on.
async function attempt(body: () => Promise<void> | void): Promise<void> {
  try {
    await body()
  } catch {}
}

function guarded<I, O>(body: (input: I, output: O) => Promise<void> | void) {
  return (input: I, output: O): Promise<void> => attempt(() => body(input, output))
}

async function server(input: PluginInput): Promise<Hooks> {
  let manifest: Manifest
  try {
    manifest = JSON.parse(readFileSync(new URL("./opencode-memory.json", import.meta.url), "utf8"))
  } catch {
    return {}
  }
  const bridge = new Bridge(manifest, input)
  const beside = injection(bridge)
  return {
    config: async (config) => attempt(() => configure(manifest, config as Record<string, unknown>)),
    event: ({ event }) => attempt(() => bridge.forward(event)),
    dispose: () => attempt(() => bridge.close()),
    tool: tools(manifest, bridge),
    "tool.definition": guarded((asked, output) => {
      // OpenCode takes every argument of a tool without zod for one that is required.
      const known = manifest.tool[asked.toolID]
      if (known) Object.assign(output, { jsonSchema: known.args })
    }),
    "experimental.chat.messages.transform": guarded((_, output) => beside.transform(output.messages)),
    "experimental.session.compacting": guarded(async ({ sessionID }, output) => {
      beside.compacting.add(sessionID)
      const answer = await bridge.call("compacting", { sessionID })
      const context = (answer?.context ?? []) as string[]
      // A prompt keeps what stands beside it out, so both become one.
      if (output.prompt) output.prompt = [output.prompt, ...context].join("\n\n")
      else if (typeof answer?.prompt === "string") output.prompt = answer.prompt
      else output.context.push(...context)
    }),
    "command.execute.before": guarded(async ({ command, sessionID, arguments: given }, output) => {
      if (!(command in manifest.command)) return
      const params = { sessionID, command, arguments: given }
      const answer = await bridge.call("command", params, bridge.deadline * COMMAND_DEADLINES)
      const failed = `opencode-memory does not answer, so it is not known whether /${command} was carried out. Tell the user.`
      const text = answer ? answer.text : failed
      const part = output.parts.find((one) => one.type === "text")
      if (typeof text === "string" && part?.type === "text") part.text = text
    }),
  }
}

// The shape of OpenCode 2, which OpenCode 1 calls as well. There the MCP server is what works; it has to be running.
function setup(host: { session?: { hook?: unknown } } | undefined): void {
  if (typeof host?.session?.hook !== "function") return
  try {
    start(JSON.parse(readFileSync(new URL("./opencode-memory.json", import.meta.url), "utf8")))
  } catch {
    // No manifest, no memory.
  }
}

export default { id: "opencode-memory", server, setup }
