/** The first step: what the device is. */
import { Input } from '../ui/form.tsx';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import { DropArea } from '../parts/drop-area.tsx';
import { ErrorNotice, Loading, Notice, useAction, useAnswer } from '../ui.tsx';
import type { Blueprint } from '../shapes.ts';
import { blueprintFolders, type Folder } from './zip-folders.ts';

/** More are found by typing. */
const SHOWN_MAX = 12;

export function ChooseBlueprint({ onChosen }: { onChosen: (blueprint: Blueprint | undefined) => void }) {
  const { answer, error } = useAnswer(listBlueprints, []);
  const [text, setText] = useState('');
  // The gateway's own blueprint fits no other device.
  const fitting = (answer ?? []).filter(
    ({ name, display_name: title }) =>
      name !== 'gateway' && title.toLowerCase().includes(text.trim().toLowerCase()),
  );
  return (
    <>
      <p class="hint">A blueprint says what a device measures and can do, and how it is talked to.</p>
      <Input
        type="search"
        value={text}
        placeholder="Find a blueprint"
        aria-label="Find a blueprint"
        onValue={setText}
      />
      <ErrorNotice error={error} />
      {!answer && error === undefined && <Loading />}
      <ul class="ways">
        {fitting.slice(0, SHOWN_MAX).map((blueprint) => (
          <li key={blueprint.id}>
            <button type="button" onClick={() => onChosen(blueprint)}>
              <b>{blueprint.display_name}</b>
              <small>
                {blueprint.has_script ? 'Talked to by a script: Modbus, HTTP or serial' : 'Connects by MQTT'}
                {blueprint.source === 'BUILT_IN' ? ' · built in' : ' · uploaded'}
              </small>
            </button>
          </li>
        ))}
      </ul>
      {fitting.length > SHOWN_MAX && (
        <p class="hint">{fitting.length - SHOWN_MAX} more: type to find them.</p>
      )}
      {answer && fitting.length === 0 && <p class="hint">No blueprint is called so; upload it below.</p>}
      <UploadBlueprint onUploaded={onChosen} />
      <p class="hint">
        <button type="button" class="link" onClick={() => onChosen(undefined)}>
          Go on without a blueprint
        </button>
        : the device connects by MQTT, and what it sends is not recorded until it has one.
      </p>
    </>
  );
}

function UploadBlueprint({ onUploaded }: { onUploaded: (blueprint: Blueprint) => void }) {
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const [folders, setFolders] = useState<readonly Folder[]>([]);
  const uploading = useAction(async (zip: Blob) => {
    const { id, warnings: found = [] } = await call<{ id: string; warnings?: string[] }>(
      'POST',
      '/v3/blueprints/upload',
      zip,
    );
    const uploaded = (await listBlueprints()).find((blueprint) => blueprint.id === id);
    setWarnings(found);
    if (uploaded) onUploaded(uploaded);
  });
  const reading = useAction(async (file: File) => {
    uploading.clear();
    setFolders([]);
    const found = blueprintFolders(await file.arrayBuffer());
    if (found.length > 1) setFolders(found);
    else await uploading.start(found[0]?.zip ?? file);
  });
  return (
    <>
      <DropArea accept=".zip,application/zip" onFile={(file) => void reading.start(file)}>
        {reading.isBusy || uploading.isBusy
          ? 'Uploading…'
          : 'Drop the zip of a blueprint or of a whole repository here, or choose one…'}
      </DropArea>
      <ErrorNotice error={reading.error ?? uploading.error} />
      {folders.length > 0 && (
        <ChooseFolder
          folders={folders}
          isBusy={uploading.isBusy}
          onChosen={({ zip }) => void uploading.start(zip)}
        />
      )}
      {warnings.length > 0 && (
        <Notice kind="warning">
          {warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
        </Notice>
      )}
    </>
  );
}

/** One of the blueprints of a repository. */
function ChooseFolder({
  folders,
  isBusy,
  onChosen,
}: {
  folders: readonly Folder[];
  isBusy: boolean;
  onChosen: (folder: Folder) => void;
}) {
  const [text, setText] = useState('');
  const fitting = folders.filter(({ path }) => path.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <section aria-label="Blueprints in the zip">
      <p class="hint">There are {folders.length} blueprints in it. Which one?</p>
      <Input
        type="search"
        value={text}
        placeholder="Find one of them"
        aria-label="Find one of them"
        onValue={setText}
      />
      <ul class="ways">
        {fitting.slice(0, SHOWN_MAX).map((folder) => (
          <li key={folder.path}>
            <button type="button" disabled={isBusy} onClick={() => onChosen(folder)}>
              <b>{folder.path.split('/').at(-1)}</b>
              <small>{folder.path}</small>
            </button>
          </li>
        ))}
      </ul>
      {fitting.length > SHOWN_MAX && (
        <p class="hint">{fitting.length - SHOWN_MAX} more: type to find them.</p>
      )}
    </section>
  );
}
