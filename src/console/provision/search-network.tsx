/** Searches the networks and serial lines of the gateway for devices of the library. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { callForLines } from '../api.ts';
import { may } from '../session.ts';
import type { SearchLine } from '../shapes.ts';
import { Button, ErrorNotice, Notice, useAction } from '../ui.tsx';
import { say } from '../words/later.ts';

type Found = SearchLine & { type: 'found' };
type Template = Found['templates'][number];

interface Searched {
  found: readonly Found[];
  problems: readonly (SearchLine & { type: 'problem' })[];
  progress: (SearchLine & { type: 'progress' }) | undefined;
  end: 'COMPLETE' | 'TIME_LIMIT' | undefined;
}

const NOTHING: Searched = { found: [], problems: [], progress: undefined, end: undefined };

function withLine(before: Searched, line: SearchLine): Searched {
  switch (line.type) {
    case 'found':
      return { ...before, found: [...before.found, line] };
    case 'problem':
      return { ...before, problems: [...before.problems, line] };
    case 'progress':
      return { ...before, progress: line };
    case 'end':
      return { ...before, end: line.outcome, progress: undefined };
  }
}

/** What was found stays while devices are added, one after another. Leaving the page ends the search. */
export function useSearch() {
  const [searched, setSearched] = useState(NOTHING);
  const [added, setAdded] = useState<readonly string[]>([]);
  const stopping = useRef<AbortController | undefined>(undefined);
  const stop = (): void => stopping.current?.abort();
  useEffect(() => stop, []);
  const searching = useAction(async () => {
    const { signal } = (stopping.current = new AbortController());
    setSearched(NOTHING);
    setAdded([]);
    await callForLines(
      '/v3/library/search',
      {},
      (line: SearchLine) => setSearched((before) => withLine(before, line)),
      signal,
    );
  });
  return {
    searched,
    searching,
    stop,
    add: (connection: object | undefined) => setAdded((before) => [...before, JSON.stringify(connection)]),
    isAdded: ({ connection }: Found) => added.includes(JSON.stringify(connection)),
  };
}

export function SearchNetwork({
  search,
  onChosen,
}: {
  search: ReturnType<typeof useSearch>;
  onChosen: (template: Template, connection: Found['connection']) => void;
}) {
  const { searched, searching, stop, isAdded } = search;
  if (!may('INSTALLER')) return null;
  const { found, problems, progress, end } = searched;
  return (
    <section aria-label={say.adding.searchNetwork} data-test="search">
      <p class="hint">{say.adding.searchHint}</p>
      <div class="actions">
        <Button action={searching}>
          {searching.isBusy ? say.adding.searching : say.adding.searchNetwork}
        </Button>
        {searching.isBusy && <Button onClick={stop}>{say.devices.stop}</Button>}
      </div>
      <ErrorNotice error={searching.error} />
      {(searching.isBusy || end !== undefined) && (
        <p class={searching.isBusy ? 'waiting' : 'hint'} role="status">
          {progress
            ? say.adding.searchProgress(
                progress.stage === 'NETWORK',
                progress.done,
                progress.total,
                found.length,
              )
            : say.adding.searchFound(found.length, end === 'TIME_LIMIT')}
        </p>
      )}
      <ul class="rows" aria-label={say.devices.foundDevices}>
        {found.map((device) => (
          <FoundRow
            key={`${device.address} ${device.unit_id}`}
            device={device}
            isAdded={isAdded(device)}
            onChosen={onChosen}
          />
        ))}
      </ul>
      {problems.map(({ address, message }) => (
        <Notice kind="warning" key={address}>
          {say.frame.said(message)}
        </Notice>
      ))}
    </section>
  );
}

function FoundRow({
  device,
  isAdded,
  onChosen,
}: {
  device: Found;
  isAdded: boolean;
  onChosen: (template: Template, connection: Found['connection']) => void;
}) {
  const { maker, model = '', serial_number: serial, address, unit_id: unit, templates, connection } = device;
  const name = maker === undefined || model.startsWith(maker) ? model : `${maker} ${model}`.trim();
  const shown = name === '' ? say.adding.unknownDevice : name;
  return (
    <li>
      <span>
        <b>{shown}</b>
        <br />
        <small>{say.adding.foundAt(address, unit, serial)}</small>
      </span>
      <div class="actions">
        {isAdded && <span class="hint">{say.adding.isAdded}</span>}
        {templates.length === 0 && <span class="hint">{say.adding.notInLibrary}</span>}
        {templates.map((template) => (
          <Button
            key={template.id}
            aria-label={say.adding.useFound(template.name, address)}
            onClick={() => onChosen(template, connection)}
          >
            {templates.length === 1 ? say.adding.setUp : template.name}
          </Button>
        ))}
      </div>
    </li>
  );
}
