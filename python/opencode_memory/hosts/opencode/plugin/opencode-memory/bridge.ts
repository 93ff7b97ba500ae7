// Connection to the server: JSON-RPC 2.0 over a WebSocket. It starts the server and reconnects by
// itself. A caller waits for the connection only within its deadline, and only while the server can
// still come.

import type { PluginInput } from "@opencode-ai/plugin"
import { authorization, type Manifest, type Params, startServer } from "./manifest"
import { request as requestOpenCode, toast } from "./opencode"

type Answer = Params | undefined
type Pending = { method: string; params: Params; resolve: (answer: Answer) => void }

const FLUSH_MS = 50
const DISPOSE_MS = 900
const HELLO_MS = 5_000
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 30_000
const MAX_QUEUED = 1_000
const MAX_UNSENT_BYTES = 16_000_000
const MAX_SESSIONS = 1_000
// The server is replaced, and has answered every request that it read.
const MOVED = 4010
const NOT_STARTED = "The memory server could not be started. `opencode-memory doctor` says why."

// Shared by all instances of the plugin, which start the server together.
let hasSaidNotStarted = false

export class Bridge {
  private socket: WebSocket | undefined
  isReady = false
  // Whether the server runs, even if it refused the plugin.
  hasAnswered = false
  private wasReady = false
  private isClosed = false
  // Whether the server could not be started. Then no hook waits for it.
  private isHopeless = false
  private isStarting = false
  private waiting: ((isReady: boolean) => void)[] = []
  private pause = FIRST_PAUSE_MS
  private timer: ReturnType<typeof setTimeout> | undefined
  private lastId = 0
  private readonly pending = new Map<number, Pending>()
  private events: unknown[] = []
  private notifications: [string, Params][] = []
  private types = new Set<string>()
  private readonly statuses = new Map<string, string>()
  private readonly firstHooks = new Map<string, number>()
  private firstDeadline: number
  deadline: number

  constructor(
    private readonly manifest: Manifest,
    private readonly input: PluginInput,
  ) {
    this.deadline = manifest.deadline_ms
    this.firstDeadline = manifest.first_deadline_ms
    this.connect()
  }

  // Resolves to whether the server is connected, at the latest after the time in which a first
  // message may wait.
  whenReady(ms = this.firstDeadline): Promise<boolean> {
    if (this.isReady || this.isClosed || this.isHopeless) return Promise.resolve(this.isReady)
    return new Promise((resolve) => {
      const late = setTimeout(() => resolve(false), Math.min(ms, this.firstDeadline))
      this.waiting.push((isReady) => {
        clearTimeout(late)
        resolve(isReady)
      })
    })
  }

  // Milliseconds that a hook of a session may wait. All hooks of the session's first message share
  // the longer deadline.
  patience(sessionID: string): number {
    const now = performance.now()
    const until = this.firstHooks.get(sessionID) ?? now + this.firstDeadline
    this.firstHooks.set(sessionID, until)
    if (this.firstHooks.size > MAX_SESSIONS) {
      const [oldest] = this.firstHooks.keys()
      this.firstHooks.delete(oldest as string)
    }
    return Math.max(this.deadline, until - now)
  }

  // What is known about a request that was not answered.
  get lateness(): "slow" | "lost" | "starting" {
    if (this.isReady) return "slow"
    return this.wasReady ? "lost" : "starting"
  }

  // Send a request. Resolves to undefined if the server is not connected, fails, or answers too
  // late.
  async call(method: string, params: Params, ms = this.deadline): Promise<Answer> {
    const begun = performance.now()
    if (!(await this.whenReady(ms))) return undefined
    this.flush()
    return await this.request(method, params, ms - (performance.now() - begun))
  }

  // Send a notification now, or after the next connection.
  tell(method: string, params: Params): void {
    if (this.notifications.push([method, params]) > MAX_QUEUED) this.notifications.shift()
    this.flush()
  }

  // Queue an event of OpenCode's bus. Before the first connection, no types of events are known.
  forward(event: { type: string; properties?: unknown }): void {
    if (!this.types.has(event.type) || this.isRepeated(event)) return
    // Drop all queued events and the connection if there are too many. If only some were dropped,
    // the server would take a part of a message for the whole message.
    if (this.events.push({ type: event.type, properties: event.properties }) > MAX_QUEUED) {
      this.events = []
      if (this.isReady) this.socket?.close()
    }
    if (this.isReady) this.timer ??= setTimeout(() => this.flush(), FLUSH_MS)
  }

  // Whether a session is said to be in the state in which it was: OpenCode repeats it several times
  // in a turn.
  private isRepeated({ type, properties }: { type: string; properties?: unknown }): boolean {
    const { sessionID, status } = (properties ?? {}) as Params
    if (type !== "session.status" || typeof sessionID !== "string") return false
    const now = JSON.stringify(status)
    if (this.statuses.get(sessionID) === now) return true
    this.statuses.delete(sessionID)
    this.statuses.set(sessionID, now)
    if (this.statuses.size > MAX_SESSIONS) {
      const [oldest] = this.statuses.keys()
      this.statuses.delete(oldest as string)
    }
    return false
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    this.wake()
    if (this.isReady) await this.call("flush", {}, DISPOSE_MS)
    this.socket?.close()
  }

  private connect(): void {
    this.timer = undefined
    if (this.isClosed) return
    // Bun's WebSocket takes headers; the type describes the one of browsers, which does not.
    const options = { headers: authorization(this.manifest) } as unknown as string[]
    const socket = new WebSocket(`${this.manifest.url.replace(/^http/, "ws")}/bridge`, options)
    this.socket = socket
    socket.onopen = () => void this.greet(socket).catch(() => socket.close())
    socket.onmessage = (message) => this.dispatch(socket, String(message.data))
    socket.onclose = (event) => this.reconnect(event.code === MOVED)
  }

  private reconnect(hasMoved: boolean): void {
    for (const [id, { method }] of this.pending) {
      if (!hasMoved || method === "hello") this.resolve(id, undefined)
    }
    if (this.isClosed) return
    // A connection that never became ready means that no server is running.
    if (!this.isReady) this.start()
    this.isReady = false
    this.timer = setTimeout(() => this.connect(), this.pause)
    this.timer.unref?.()
    if (!this.isStarting) this.pause = Math.min(this.pause * 2, MAX_PAUSE_MS)
  }

  private start(): void {
    if (this.isStarting) return
    this.isStarting = true
    void startServer(this.manifest).then((isThere) => {
      this.isStarting = false
      this.isHopeless = !isThere && !this.isReady
      if (!this.isHopeless) return
      this.wake()
      this.sayNotStarted()
    })
  }

  // Say it once, because the user may work on without a server.
  private sayNotStarted(): void {
    if (hasSaidNotStarted || this.manifest.start.length === 0) return
    hasSaidNotStarted = true
    void toast(this.input, { message: NOT_STARTED, variant: "warning" }).catch(() => {})
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve(this.isReady)
  }

  private async greet(socket: WebSocket): Promise<void> {
    const { version, protocol } = this.manifest
    const params = { protocol, version, directory: this.input.directory, pid: process.pid }
    const answer = await this.request("hello", params, HELLO_MS)
    if (!answer) return socket.close()
    this.hasAnswered = true
    if (answer.refused) {
      this.isClosed = true
      socket.close()
      this.wake()
      return toast(this.input, { message: String(answer.notice), variant: "warning" })
    }
    if (Array.isArray(answer.events)) this.types = new Set(answer.events)
    this.deadline = Number(answer.deadline_ms) || this.deadline
    this.firstDeadline = Number(answer.first_deadline_ms) || this.firstDeadline
    this.pause = FIRST_PAUSE_MS
    this.isReady = this.wasReady = true
    this.isHopeless = false
    this.flush()
    for (const [id, { method, params }] of this.pending) this.send({ id, method, params })
    this.wake()
  }

  private request(method: string, params: Params, ms: number): Promise<Answer> {
    const id = ++this.lastId
    const answer = new Promise<Answer>((resolve) =>
      this.pending.set(id, { method, params, resolve }),
    )
    const late = setTimeout(() => this.resolve(id, undefined), ms)
    this.send({ id, method, params })
    return answer.finally(() => clearTimeout(late))
  }

  private resolve(id: number, answer: Answer): void {
    this.pending.get(id)?.resolve(answer)
    this.pending.delete(id)
  }

  private dispatch(socket: WebSocket, text: string): void {
    let message: Params = {}
    try {
      message = { ...JSON.parse(text) }
    } catch {}
    if (typeof message.method === "string") {
      // A new connection must not get the answer to a request of the old one.
      const answer = (rest: object) =>
        this.socket === socket && this.send({ id: message.id, ...rest })
      const params = (message.params ?? {}) as Params
      this.serve(message.method, params).then(
        (result) => answer({ result }),
        (error) => answer({ error: { code: -32000, message: String(error) } }),
      )
      return
    }
    const result = message.error ? undefined : (message.result ?? undefined)
    this.resolve(message.id as number, result as Answer)
  }

  private async serve(method: string, params: Params): Promise<unknown> {
    if (method === "oc.request") return await requestOpenCode(this.input, params)
    if (method === "oc.subscribe") this.types = new Set(params.types as string[])
    else if (method === "toast") await toast(this.input, params)
    else throw new Error(`there is no method ${method}`)
    return {}
  }

  private flush(): void {
    if (!this.isReady) return
    clearTimeout(this.timer)
    this.timer = undefined
    if ((this.socket?.bufferedAmount ?? 0) > MAX_UNSENT_BYTES) return
    for (const [method, params] of this.notifications.splice(0)) this.send({ method, params })
    const params = { directory: this.input.directory, events: this.events.splice(0) }
    if (params.events.length > 0) this.send({ method: "events", params })
  }

  private send(message: object): void {
    // Leave out the data of pictures and documents: nothing is learned from it, and it would delay
    // the next requests.
    const withoutData = (key: string, value: unknown) =>
      key === "url" && `${value}`.startsWith("data:") ? "data:" : value
    this.socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message }, withoutData))
  }
}
