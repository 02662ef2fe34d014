/** Blueprints: upload with all validation errors, list, download. */
import { useState } from 'preact/hooks';
import { call, callFor, callForFile, path, remove } from '../api.ts';
import { Faults } from '../input-faults.ts';
import { momentText } from '../format.ts';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import { DropArea } from '../parts/drop-area.tsx';
import { may } from '../session.ts';
import { manifestText } from '../parts/zip-folders.ts';
import {
  AskButton,
  Awaited,
  Button,
  Card,
  Dialog,
  Empty,
  ErrorNotice,
  Notice,
  PageHead,
  useAction,
  useAnswer,
  useStored,
} from '../ui.tsx';
import { Code } from '../ui/page-components.tsx';
import type { Blueprint } from '../shapes.ts';
import { say } from '../words/later.ts';

const BYTES_PER_KIB = 1_024;

export function BlueprintsPage() {
  const { answer, error } = useStored(listBlueprints);
  const uploaded = answer?.filter(({ source }) => source !== 'BUILT_IN') ?? [];
  return (
    <>
      <PageHead title={say.frame.blueprints}>
        <a class="button" href="/v3/blueprints/device_profiles/download" download>
          {say.adding.downloadProfiles}
        </a>
      </PageHead>
      {may('OWNER') && <UploadCard />}
      <Awaited answer={answer} error={error} />
      {answer && (
        <div class="columns">
          <Card title={say.adding.uploaded}>
            {uploaded.length === 0 ? (
              <Empty title={say.adding.noneYet}>
                <p>{say.adding.whatABlueprintIs}</p>
                {may('OWNER') && (
                  <a class="button" href="#/add">
                    {say.devices.addDevice}
                  </a>
                )}
              </Empty>
            ) : (
              <BlueprintList blueprints={uploaded} />
            )}
          </Card>
          <Card title={say.adding.builtIn}>
            <BlueprintList blueprints={answer.filter(({ source }) => source === 'BUILT_IN')} />
          </Card>
        </div>
      )}
    </>
  );
}

function BlueprintList({ blueprints }: { blueprints: readonly Blueprint[] }) {
  return (
    <ul class="rows">
      {blueprints.map((blueprint) => (
        <BlueprintRow blueprint={blueprint} key={blueprint.id} />
      ))}
    </ul>
  );
}

function BlueprintRow({ blueprint }: { blueprint: Blueprint }) {
  const { id, display_name: name, origin, version, device_count: deviceCount } = blueprint;
  const [isOpen, setOpen] = useState(false);
  const facts = [
    ...(origin === 'BUILT_IN' ? [] : [say.adding.version(version)]),
    ...(origin === 'LIBRARY' ? [say.adding.ofLibrary] : []),
    ...(blueprint.has_script ? [say.values.lua] : []),
    momentText(blueprint.created_at),
    say.adding.usedBy(deviceCount),
  ];
  const isRemovable = origin !== 'BUILT_IN' && deviceCount === 0 && may('OWNER');
  return (
    <li data-blueprint={id}>
      <span>
        <b>{name}</b>
        <small>{facts.join(' · ')}</small>
      </span>
      <span class="actions">
        <Button aria-label={say.adding.showName(name)} onClick={() => setOpen(true)}>
          {say.adding.show}
        </Button>
        <a class="button" href={`${path`/v3/blueprints/${id}/zip`}?view=ORIGINAL`} download>
          {say.adding.original}
        </a>
        <a class="button" href={`${path`/v3/blueprints/${id}/zip`}?view=COMPILED`} download>
          {say.adding.compiled}
        </a>
        {isRemovable && (
          <AskButton
            title={say.everywhere.deleteTitle(name)}
            text={say.adding.blueprintIsLost}
            confirm={say.everywhere.delete}
            aria-label={say.everywhere.deleteName(name)}
            run={() => remove(path`/v3/blueprints/${id}`)}
          >
            {say.everywhere.delete}
          </AskButton>
        )}
      </span>
      {isOpen && (
        <Dialog title={name} onClose={() => setOpen(false)}>
          <Inside id={id} />
        </Dialog>
      )}
    </li>
  );
}

/** Content of a blueprint, as devices and clients see it. */
function Inside({ id }: { id: string }) {
  const { answer, error } = useAnswer(async () => {
    const { content } = await callForFile(
      'GET',
      `${path`/v3/blueprints/${id}/zip`}?view=COMPILED`,
      undefined,
    );
    return manifestText(await content.arrayBuffer());
  }, [id]);
  return (
    <>
      <Awaited answer={answer} error={error} />
      {answer !== undefined && <Code text={answer} />}
    </>
  );
}

function UploadCard() {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [outcome, setOutcome] = useState<string | undefined>(undefined);
  const checking = useAction(async (zip: File) => {
    const address = '/v3/blueprints/validate';
    const problems = await callFor<string[] | undefined>('validation_errors', 'POST', address, zip);
    if (problems && problems.length > 0) throw new Faults(problems);
    setOutcome(say.adding.blueprintGood);
  });
  const uploading = useAction(async (zip: File) => {
    await call('POST', '/v3/blueprints/upload', zip);
    setOutcome(say.adding.isStored(zip.name));
  });
  const isBusy = checking.isBusy || uploading.isBusy;
  const forget = (): void => {
    setOutcome(undefined);
    checking.clear();
    uploading.clear();
  };
  return (
    <Card title={say.adding.upload}>
      <DropArea
        accept=".zip,application/zip"
        onFile={(chosen) => {
          forget();
          setFile(chosen);
        }}
      >
        {file ? say.adding.fileSize(file.name, Math.ceil(file.size / BYTES_PER_KIB)) : say.adding.dropZip}
      </DropArea>
      <ErrorNotice error={uploading.error ?? checking.error} />
      {outcome !== undefined && <Notice kind="success">{outcome}</Notice>}
      <div class="actions end">
        <Button
          disabled={!file || isBusy}
          onClick={() => {
            forget();
            if (file) void checking.start(file);
          }}
        >
          {say.adding.check}
        </Button>
        <Button
          kind="primary"
          disabled={!file || isBusy}
          onClick={() => {
            forget();
            if (file) void uploading.start(file);
          }}
        >
          {uploading.isBusy ? say.adding.uploading : say.adding.upload}
        </Button>
      </div>
    </Card>
  );
}
