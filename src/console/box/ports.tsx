/** Ports of the gateway that its scripts may use: a list of one kind, a new one, and whether one can be used. */
import type { ComponentChildren } from 'preact';
import { callFor, path } from '../api.ts';
import { AddButton, ManagedRow, testAt, type Tried } from '../parts/managed-row.tsx';
import { may } from '../session.ts';
import { Awaited, Card, Rows, useStored } from '../ui.tsx';
import { say } from '../words/later.ts';

/** Attributes of the control for the name of a new port. */
export const PORT_NAME = {
  required: true,
  pattern: '[A-Za-z0-9_\\-]{1,64}',
  title: say.rules.nameAllowed,
};

export function PortsCard<Port extends { name: string }>({
  title,
  kind,
  none,
  describe,
  isFixed = () => false,
  more,
  add,
}: {
  title: string;
  /** As the API calls them. */
  kind: 'serial_ports' | 'io_ports';
  /** Shown when there is none. */
  none: string;
  describe: (port: Port) => string;
  /** It cannot be deleted here. */
  isFixed?: (port: Port) => boolean;
  /** Below each. */
  more?: (port: Port) => ComponentChildren;
  add: { text: string; title: string; form: (onDone: () => void) => ComponentChildren };
}) {
  const { answer, error } = useStored(() => callFor<Port[]>(kind, 'GET', `/v3/${kind}`));
  const addressOf = ({ name }: Port): string => `/v3/${kind}${path`/${name}`}`;
  return (
    <Card title={title} data-test={kind} actions={may('INSTALLER') && <AddButton {...add} />}>
      <Awaited answer={answer} error={error} />
      {answer?.length === 0 && <p class="hint">{none}</p>}
      <Rows
        items={answer ?? []}
        keyOf={({ name }) => name}
        row={(port) => (
          <ManagedRow
            name={port.name}
            address={addressOf(port)}
            isReadOnly={!may('INSTALLER')}
            deleting={isFixed(port) ? undefined : say.ports.portDeleting}
            test={() => testOf(addressOf(port))}
            more={more?.(port)}
          >
            <small>{describe(port)}</small>
          </ManagedRow>
        )}
      />
    </Card>
  );
}

async function testOf(address: string): Promise<Tried> {
  const { usable, reason } = await testAt<{ usable: boolean; reason?: string }>(address);
  return usable
    ? { isGood: true, text: say.ports.opens }
    : { isGood: false, text: say.frame.said(reason ?? say.ports.opensNot) };
}
