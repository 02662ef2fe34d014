/** Updates: upload of a package, its verdict and notes, installation and outcome. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { call, callFor, NoAnswer } from '../api.ts';
import { bytesText, momentText } from '../format.ts';
import { DropArea } from '../parts/drop-area.tsx';
import { type SentFile, SentFileProgress } from '../parts/sent-file.tsx';
import { may } from '../session.ts';
import type { Update } from '../shapes.ts';
import { AskButton, Awaited, Button, Card, ErrorNotice, Notice, useAction, useStored } from '../ui.tsx';
import { Fact } from '../ui/page-components.tsx';
import { sendFile } from './file-upload.ts';
import { notesBlocks } from './release-notes.ts';
import { say } from '../words/later.ts';

const UPDATE = '/v3/update';
const REFRESH_MS = 30_000;
const WAITING_REFRESH_MS = 1_000;
const INSTALLED = 'installed';

/** The package that was installed from here; other pages may be opened meanwhile. */
const handedOver = signal<{ from: string; to: string; outcomeBefore: string | undefined } | undefined>(
  undefined,
);

export function UpdatesTab() {
  const { answer, error } = useStored(
    () => callFor<Update>('update', 'GET', UPDATE),
    [],
    (update) => (update?.installing === true ? WAITING_REFRESH_MS : REFRESH_MS),
  );
  if (!answer) return <Awaited answer={answer} error={error} />;
  // While the gateway restarts nothing answers, which is no error.
  const isStarting = answer.installing && error instanceof NoAnswer;
  return (
    <>
      {!isStarting && <ErrorNotice error={error} />}
      {answer.installing ? <Installing isStarting={isStarting} /> : <Ended update={answer} />}
      {!answer.installing && answer.failed_trial && <Failed failure={answer.failed_trial} />}
      <div class="columns">
        <Installed update={answer} />
        {answer.uploaded && <Uploaded update={answer} uploaded={answer.uploaded} />}
      </div>
    </>
  );
}

function Installing({ isStarting }: { isStarting: boolean }) {
  const name = handedOver.value ? say.updates.versionName(handedOver.value.to) : say.updates.newerVersion;
  const before = handedOver.value?.from ?? say.updates.oneBefore;
  return <Notice>{isStarting ? say.updates.startsAgain(before) : say.updates.judgedAgain(name)}</Notice>;
}

/** The outcome of the package that was installed from here. */
function Ended({ update: { version, last_outcome: outcome, failed_trial: failure } }: { update: Update }) {
  if (!handedOver.value) return null;
  const { from, to, outcomeBefore } = handedOver.value;
  if (isVersion(version, to))
    return (
      <Notice kind="success">
        <p>{say.updates.runs(to, from)}</p>
        <div class="actions">
          <Button onClick={() => location.reload()}>{say.updates.loadConsole}</Button>
        </div>
      </Notice>
    );
  if (failure && isVersion(to, failure.version)) return null;
  const said = outcome && outcome.at !== outcomeBefore ? outcome.message : undefined;
  return (
    <Notice kind="warning">
      {say.updates.runsNot(version, to)}{' '}
      {said === undefined || said === INSTALLED ? say.updates.tellMore : say.frame.said(said)}
    </Notice>
  );
}

type Failure = NonNullable<Update['failed_trial']>;

/** A version that was installed, from here or at the box, and is not the one that runs. */
function Failed({ failure }: { failure: Failure }) {
  return (
    <Notice kind="warning">
      <p>
        <strong>{say.updates.failedTitle(failure.version)}</strong>
      </p>
      <p>{say.updates.failed(momentText(failure.at), whyText(failure))}</p>
      {failure.words !== null && (
        <p>
          {say.updates.itSaid} <q>{say.frame.said(failure.words)}</q>
        </p>
      )}
      <p>{adviceText(failure)}</p>
    </Notice>
  );
}

const whyText = ({ reason, status }: Failure): string =>
  reason === 'ENDED' ? say.updates.ended(status ?? say.updates.unknownStatus) : say.updates.failedBy[reason];

function adviceText({ reason, words }: Failure): string {
  if (reason === 'CUT_OFF') return say.updates.tryAgain;
  if (reason === 'NO_COPY') return say.updates.makeRoom;
  return words === null ? say.updates.waitForNext : say.updates.mendOrWait;
}

/** Debian packages write pre-releases with `~` instead of `-`. */
const isVersion = (running: string, packaged: string): boolean => running.replace('-', '~') === packaged;

function Installed({ update }: { update: Update }) {
  const { version, supported, installing, last_outcome: outcome } = update;
  return (
    <Card title={say.updates.installed} data-test="update">
      <dl class="facts">
        <Fact name={say.box.version}>{version}</Fact>
        {outcome && (
          <Fact name={say.updates.lastUpdate}>
            {momentText(outcome.at)} <small>{say.frame.said(outcome.message)}</small>
          </Fact>
        )}
      </dl>
      {!supported ? (
        <p class="hint">{say.updates.noPackage}</p>
      ) : may('INSTALLER') ? (
        !installing && <Upload />
      ) : (
        <p class="hint">{say.updates.installerCan}</p>
      )}
    </Card>
  );
}

function Upload() {
  const [sent, setSent] = useState<SentFile | undefined>(undefined);
  const action = useAction(async (file: File) => {
    handedOver.value = undefined;
    setSent({ name: file.name, share: 0 });
    await sendFile(`${UPDATE}/upload`, file, (share) => setSent({ name: file.name, share }));
  });
  return (
    <>
      {/* Stays while the file is sent: the keyboard is here. */}
      <DropArea accept=".deb" onFile={(file) => void action.start(file)}>
        {action.isBusy && sent ? sent.name : say.updates.dropPackage}
      </DropArea>
      {action.isBusy && sent && <SentFileProgress sent={sent} />}
      {!action.isBusy && <p class="hint">{say.updates.nothingChanges}</p>}
      <ErrorNotice error={action.error} />
    </>
  );
}

function Uploaded({ update, uploaded }: { update: Update; uploaded: NonNullable<Update['uploaded']> }) {
  const { version: to } = uploaded;
  const install = async (): Promise<void> => {
    await call('POST', `${UPDATE}/install`);
    handedOver.value = { from: update.version, to, outcomeBefore: update.last_outcome?.at };
  };
  const discarding = useAction(() => call('DELETE', UPDATE));
  return (
    <Card title={say.updates.isHere(to)} data-test="uploaded">
      <dl class="facts">
        <Fact name={say.updates.signed}>{say.updates.byKnownKey}</Fact>
        <Fact name={say.updates.size}>
          {bytesText(uploaded.size_bytes)}{' '}
          <small>{say.updates.installedSize(bytesText(uploaded.installed_bytes))}</small>
        </Fact>
        <Fact name={say.updates.processor}>{uploaded.architecture}</Fact>
      </dl>
      <ReleaseNotes markdown={uploaded.release_notes} />
      <ErrorNotice error={discarding.error} />
      {may('INSTALLER') && (
        <div class="actions end">
          <Button action={discarding}>{say.updates.forget}</Button>
          <AskButton
            kind="primary"
            isDangerous={false}
            title={say.updates.installTitle(to, update.version)}
            text={say.updates.installText}
            confirm={say.updates.install}
            run={install}
          >
            {say.updates.installAsking}
          </AskButton>
        </div>
      )}
    </Card>
  );
}

function ReleaseNotes({ markdown }: { markdown: string }) {
  const blocks = notesBlocks(markdown);
  if (blocks.length === 0) return <p class="hint">{say.updates.saysNothingNew}</p>;
  return (
    <div class="release-notes" tabIndex={0} role="region" aria-label={say.updates.whatIsNew}>
      {blocks.map((block) => {
        if (block.kind === 'heading')
          return block.isOfVersion ? <h3>{block.text}</h3> : <h4>{block.text}</h4>;
        if (block.kind === 'paragraph') return <p>{block.text}</p>;
        return (
          <ul>
            {block.items.map((item) => (
              <li>{item}</li>
            ))}
          </ul>
        );
      })}
    </div>
  );
}
