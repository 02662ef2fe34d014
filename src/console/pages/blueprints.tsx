/** Blueprints: upload with all validation errors, list, download. */
import { useState } from 'preact/hooks';
import { call, callFor, path } from '../api.ts';
import { Faults } from '../faults.ts';
import { momentText } from '../format.ts';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import { DropArea } from '../parts/drop-area.tsx';
import { may } from '../session.ts';
import { Awaited, Button, Card, Empty, ErrorNotice, Notice, PageHead, useAction, useStored } from '../ui.tsx';
import type { Blueprint } from '../shapes.ts';
import { say } from '../words/index.ts';

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
              <Empty title={say.adding.noneYet}>{say.adding.whatABlueprintIs}</Empty>
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
      {blueprints.map(({ id, display_name: name, created_at: at, has_script: hasScript }) => (
        <li key={id}>
          <span>
            <b>{name}</b>
            <small>
              {hasScript ? say.adding.lua : ''}
              {momentText(at)}
            </small>
          </span>
          <span class="actions">
            <a class="button" href={`${path`/v3/blueprints/${id}/zip`}?view=ORIGINAL`} download>
              {say.adding.original}
            </a>
            <a class="button" href={`${path`/v3/blueprints/${id}/zip`}?view=COMPILED`} download>
              {say.adding.compiled}
            </a>
          </span>
        </li>
      ))}
    </ul>
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
