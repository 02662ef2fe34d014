/** Ports of the gateway that its scripts may use: a list of one kind, a new one, and whether one can be used. */
import type { ComponentChildren } from 'preact';
import { call, changeCount, path } from '../api.ts';
import { AddButton, ManagedRow, type Tried } from '../parts/managed-row.tsx';
import { may } from '../session.ts';
import { Awaited, Card, useAnswer } from '../ui.tsx';
import { say } from '../words/index.ts';

/** Of the control for the name of a new port. */
export const PORT_NAME = { required: true, pattern: '[A-Za-z0-9_\\-]{1,64}' };

export function PortsCard<Port extends { name: string }>({
  title,
  address,
  listOf,
  none,
  describe,
  isFixed = () => false,
  more,
  add,
}: {
  title: string;
  /** Where the API has them. */
  address: '/v3/serial_ports' | '/v3/io_ports';
  listOf: (answer: never) => readonly Port[];
  /** What stands where there is none. */
  none: string;
  describe: (port: Port) => string;
  /** It is not taken away here. */
  isFixed?: (port: Port) => boolean;
  /** Below each. */
  more?: (port: Port) => ComponentChildren;
  add: { text: string; title: string; form: (onDone: () => void) => ComponentChildren };
}) {
  const { answer, error } = useAnswer(
    async () => listOf(await call<never>('GET', address)),
    [changeCount.value],
  );
  return (
    <Card
      title={title}
      data-test={address.slice('/v3/'.length)}
      actions={may('INSTALLER') && <AddButton {...add} />}
    >
      <Awaited answer={answer} error={error} />
      {answer?.length === 0 && <p class="hint">{none}</p>}
      <ul class="rows">
        {answer?.map((port) => (
          <ManagedRow
            key={port.name}
            name={port.name}
            address={`${address}${path`/${port.name}`}`}
            isReadOnly={!may('INSTALLER')}
            deleting={isFixed(port) ? undefined : say.ports.portDeleting}
            test={() => testOf(`${address}${path`/${port.name}`}`)}
            more={more?.(port)}
          >
            <small>{describe(port)}</small>
          </ManagedRow>
        ))}
      </ul>
    </Card>
  );
}

async function testOf(address: string): Promise<Tried> {
  const { test } = await call<{ test: { usable: boolean; reason?: string } }>(
    'POST',
    `${address}/test`,
    undefined,
    'reads',
  );
  return test.usable
    ? { isGood: true, text: say.ports.opens }
    : { isGood: false, text: test.reason ?? say.ports.opensNot };
}
