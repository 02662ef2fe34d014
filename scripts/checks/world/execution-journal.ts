/** What callers and devices know of command executions, and how the gateway's record is judged by it. Pure. */
import type { Problem } from './journal.ts';

/** An execution as the list operation shows it with `expand=log`. */
export interface ListedExecution {
  id: string;
  state: string;
  created_at: string;
  request: { arguments: Record<string, unknown> };
  response?: { state: string; payload: Record<string, unknown> };
  log: readonly { state: string }[];
}

/** One HTTP call; the tag travels as an argument and is used once. */
interface Call {
  run: number;
  /** Set when HTTP answered 200. */
  answer?: { id: string; finalState: string | undefined };
  /** HTTP refused: nothing may have been recorded or sent. */
  refused?: boolean;
}

/** One request as the device got it. */
interface Delivery {
  tag: number;
  run: number;
  count: number;
  /** Run in which the final answer was acknowledged by the broker. */
  answeredInRun?: number;
}

export const FINAL_STATES: readonly string[] = ['SUCCESS', 'ERROR', 'TIMEOUT'];

export class ExecutionJournal {
  readonly #calls = new Map<number, Call>();
  readonly #deliveries = new Map<string, Delivery>();
  readonly #finals = new Map<string, string>();

  called(tag: number, run: number): void {
    this.#calls.set(tag, { run });
  }

  answered(tag: number, id: string, finalState: string | undefined): void {
    const call = this.#calls.get(tag);
    if (call) call.answer = { id, finalState };
  }

  refused(tag: number): void {
    const call = this.#calls.get(tag);
    if (call) call.refused = true;
  }

  delivered(id: string, tag: number, run: number): void {
    const earlier = this.#deliveries.get(id);
    if (earlier) earlier.count += 1;
    else this.#deliveries.set(id, { tag, run, count: 1 });
  }

  /** The broker acknowledged the device's final answer. */
  completed(id: string, run: number): void {
    const delivery = this.#deliveries.get(id);
    if (delivery) delivery.answeredInRun ??= run;
  }

  get count(): number {
    return this.#calls.size;
  }

  get acknowledgedCount(): number {
    return [...this.#calls.values()].filter(({ answer }) => answer).length;
  }

  /** Take it before asking: what must be in the list. */
  snapshot(): { tag: number; id: string; finalState: string | undefined }[] {
    return [...this.#calls].flatMap(([tag, { answer }]) => (answer ? [{ tag, ...answer }] : []));
  }

  /**
   * @param required of `snapshot`, taken before the list was read
   * @param runStartedAtMs what was created before the present run must have ended
   */
  judge(
    listed: readonly ListedExecution[],
    required: ReturnType<ExecutionJournal['snapshot']>,
    tagOf: (execution: ListedExecution) => number,
    runStartedAtMs: number,
  ): Problem[] {
    const problems: Problem[] = [];
    const byId = new Map<string, ListedExecution>();
    const tags = new Set<number>();
    for (const execution of listed) {
      const tag = tagOf(execution);
      if (byId.has(execution.id))
        problems.push({ kind: 'doubled', item: `execution ${execution.id} in the list` });
      if (tags.has(tag)) problems.push({ kind: 'doubled', item: `command ${tag} has two executions` });
      byId.set(execution.id, execution);
      tags.add(tag);
      problems.push(...this.#judgeOne(execution, tag, runStartedAtMs));
    }
    for (const { tag, id, finalState } of required) {
      const execution = byId.get(id);
      if (!execution) problems.push({ kind: 'lost', item: `execution ${id} of command ${tag}` });
      else if (finalState !== undefined && execution.state !== finalState)
        problems.push({
          kind: 'wrong',
          item: `execution ${id} is ${execution.state}, HTTP said ${finalState}`,
        });
    }
    return [...problems, ...this.#judgeDeliveries()];
  }

  #judgeOne(execution: ListedExecution, tag: number, runStartedAtMs: number): Problem[] {
    const { id, state } = execution;
    const wrong = (text: string): Problem => ({
      kind: 'wrong',
      item: `execution ${id} of command ${tag} ${text}`,
    });
    const problems: Problem[] = [];
    const call = this.#calls.get(tag);
    const delivery = this.#deliveries.get(id);
    const isFinal = FINAL_STATES.includes(state);
    if (!call) problems.push(wrong('was never asked for'));
    if (call?.refused) problems.push(wrong('is recorded although HTTP refused it'));
    if (!isFinal && Date.parse(execution.created_at) < runStartedAtMs)
      problems.push(wrong(`is still ${state} after a restart`));
    const earlier = this.#finals.get(id);
    if (earlier !== undefined && earlier !== state)
      problems.push(wrong(`was ${earlier} and is ${state} now`));
    if (isFinal) this.#finals.set(id, state);
    if (state === 'SUCCESS' && delivery?.count !== 1)
      problems.push(wrong(`is SUCCESS, the device got it ${delivery?.count ?? 0} times`));
    if (state === 'SUCCESS' && execution.response?.payload['result'] !== tag)
      problems.push(wrong(`has the answer ${JSON.stringify(execution.response?.payload)}`));
    if (isFinal && !execution.log.some((entry) => entry.state === 'SUCCEEDED' || entry.state === 'ERROR'))
      problems.push(wrong(`is ${state} without a final entry in its log`));
    // An answer acknowledged in the run of its request came in time.
    if (
      delivery?.answeredInRun !== undefined &&
      delivery.answeredInRun === delivery.run &&
      isFinal &&
      state !== 'SUCCESS'
    )
      problems.push({
        kind: 'lost',
        item: `answer of execution ${id}: acknowledged, but the state is ${state}`,
      });
    return problems;
  }

  /** A device must get a command once at most, and none that HTTP refused. */
  #judgeDeliveries(): Problem[] {
    const problems: Problem[] = [];
    const idOfTag = new Map<number, string>();
    for (const [id, { tag, count }] of this.#deliveries) {
      const other = idOfTag.get(tag);
      idOfTag.set(tag, id);
      if (count > 1)
        problems.push({ kind: 'doubled', item: `command ${tag} reached the device ${count} times` });
      if (other !== undefined)
        problems.push({ kind: 'doubled', item: `command ${tag} reached the device as ${other} and ${id}` });
      if (this.#calls.get(tag)?.refused)
        problems.push({ kind: 'wrong', item: `command ${tag} reached the device although HTTP refused it` });
    }
    return problems;
  }

  /** Requests that reached a device must be on record. */
  judgeRecords(deliveredIds: readonly string[], listed: readonly ListedExecution[]): Problem[] {
    const ids = new Set(listed.map(({ id }) => id));
    return deliveredIds
      .filter((id) => !ids.has(id))
      .map((id) => ({ kind: 'lost', item: `execution ${id}: the device got it, there is no record` }));
  }

  deliveredIds(): string[] {
    return [...this.#deliveries.keys()];
  }
}
