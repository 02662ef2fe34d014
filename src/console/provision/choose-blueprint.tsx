/** The first step: what the device is. */
import { useState } from 'preact/hooks';
import { matchesSearch } from '../text-search.ts';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import { DropArea } from '../parts/drop-area.tsx';
import { Awaited, ErrorNotice, Notice, useAction, useStored } from '../ui.tsx';
import { Search } from '../ui/search.tsx';
import type { Blueprint } from '../shapes.ts';
import { SimulatedDevice, uploadBlueprint } from './simulated-device.tsx';
import { blueprintFolders, type Folder } from '../parts/zip-folders.ts';
import { say } from '../words/later.ts';

/** Blueprints of the box and its modules, and the empty one: they are not assigned here. */
const NOT_CHOSEN = new Set(['gateway', 'communication-module', 'empty']);
/** Further ones are found by typing. */
const SHOWN_MAX = 12;

export function ChooseBlueprint({ onChosen }: { onChosen: (blueprint: Blueprint | undefined) => void }) {
  const { answer, error } = useStored(listBlueprints);
  const [text, setText] = useState('');
  const fitting = (answer ?? []).filter(
    ({ name, display_name: title }) => !NOT_CHOSEN.has(name ?? '') && matchesSearch(title, text),
  );
  return (
    <>
      <p class="hint">{say.adding.blueprintHint}</p>
      <Search label={say.adding.findBlueprint} text={text} onText={setText} />
      <Awaited answer={answer} error={error} />
      <ul class="ways">
        {fitting.slice(0, SHOWN_MAX).map((blueprint) => (
          <li key={blueprint.id}>
            <button type="button" onClick={() => onChosen(blueprint)}>
              <b>{blueprint.display_name}</b>
              <small>
                {blueprint.has_script ? say.adding.byScript : say.adding.byMqtt}
                {blueprint.source === 'BUILT_IN' ? say.adding.alsoBuiltIn : say.adding.alsoUploaded}
              </small>
            </button>
          </li>
        ))}
      </ul>
      {fitting.length > SHOWN_MAX && (
        <p class="hint">{say.adding.moreByTyping(fitting.length - SHOWN_MAX)}</p>
      )}
      {answer && fitting.length === 0 && <p class="hint">{say.adding.noneCalledSo}</p>}
      <SimulatedDevice known={answer ?? []} onChosen={onChosen} />
      <UploadBlueprint onUploaded={onChosen} />
      <p class="hint">
        {say.adding.goOnWithout((text) => (
          <button type="button" class="link" onClick={() => onChosen(undefined)}>
            {text}
          </button>
        ))}
      </p>
    </>
  );
}

function UploadBlueprint({ onUploaded }: { onUploaded: (blueprint: Blueprint) => void }) {
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const [folders, setFolders] = useState<readonly Folder[]>([]);
  const uploading = useAction(async (zip: Blob) => {
    const { blueprint, warnings: found } = await uploadBlueprint(zip);
    setWarnings(found);
    if (blueprint) onUploaded(blueprint);
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
        {reading.isBusy || uploading.isBusy ? say.adding.uploading : say.adding.dropRepository}
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
  const fitting = folders.filter(({ path }) => matchesSearch(path, text));
  return (
    <section aria-label={say.adding.blueprintsInZip}>
      <p class="hint">{say.adding.whichOne(folders.length)}</p>
      <Search label={say.adding.findOne} text={text} onText={setText} />
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
        <p class="hint">{say.adding.moreByTyping(fitting.length - SHOWN_MAX)}</p>
      )}
    </section>
  );
}
