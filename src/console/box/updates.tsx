/** Newer versions: taken as a file, judged, shown, installed, and what became of them. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { call, changeCount, NoAnswer } from '../api.ts';
import { bytesText, momentText } from '../format.ts';
import { DropArea } from '../parts/drop-area.tsx';
import { may } from '../session.ts';
import type { Update } from '../shapes.ts';
import {
  AskButton,
  Button,
  Card,
  ErrorNotice,
  Fact,
  Loading,
  Notice,
  useAction,
  useAnswer,
  useRefresh,
} from '../ui.tsx';
import { sendPackage } from './package-upload.ts';
import { notesBlocks } from './release-notes.ts';

const UPDATE = '/v3/update';
const REFRESH_MS = 30_000;
const WAITING_REFRESH_MS = 1_000;
const INSTALLED = 'installed';

/** What was handed over from here; other pages may be looked at meanwhile. */
const handedOver = signal<{ from: string; to: string; outcomeBefore: string | undefined } | undefined>(
  undefined,
);

export function UpdatesTab() {
  const { answer, error, again } = useAnswer(
    async () => (await call<{ update: Update }>('GET', UPDATE)).update,
    [changeCount.value],
  );
  useRefresh(again, answer?.installing === true ? WAITING_REFRESH_MS : REFRESH_MS);
  if (!answer) return error === undefined ? <Loading /> : <ErrorNotice error={error} />;
  // While the gateway starts again nobody answers, which is as it should be.
  const isStarting = answer.installing && error instanceof NoAnswer;
  return (
    <>
      {!isStarting && <ErrorNotice error={error} />}
      {answer.installing ? <Installing isStarting={isStarting} /> : <Ended update={answer} />}
      <div class="columns">
        <Installed update={answer} />
        {answer.uploaded && <Uploaded update={answer} uploaded={answer.uploaded} />}
      </div>
    </>
  );
}

function Installing({ isStarting }: { isStarting: boolean }) {
  const name = handedOver.value ? `Version ${handedOver.value.to}` : 'The newer version';
  const before = handedOver.value?.from ?? 'the one before';
  return (
    <Notice>
      {isStarting ? (
        <p>
          The gateway starts again. It copies its state first, which takes minutes when there is much of it. A
          version that does not become ready goes away by itself, and {before} comes back with its state.
        </p>
      ) : (
        <p>
          {name} is judged once more and unpacked. The gateway works until it starts again. Nothing is to be
          done; this page tells when it is over.
        </p>
      )}
    </Notice>
  );
}

/** What became of what was handed over from here. */
function Ended({ update: { version, last_outcome: outcome } }: { update: Update }) {
  if (!handedOver.value) return null;
  const { from, to, outcomeBefore } = handedOver.value;
  if (isVersion(version, to))
    return (
      <Notice kind="success">
        <p>
          Version {to} runs. Should it not stay ready, {from} comes back by itself, with its state from
          before.
        </p>
        <div class="actions">
          <Button onClick={() => location.reload()}>Load its console</Button>
        </div>
      </Notice>
    );
  const said = outcome && outcome.at !== outcomeBefore ? outcome.message : undefined;
  return (
    <Notice kind="warning">
      <p>
        {version} runs, not {to}.{' '}
        {said === undefined || said === INSTALLED
          ? 'On the box, energy-gateway-versions status and the journal tell more.'
          : said}
      </p>
    </Notice>
  );
}

/** Packages write a version before the final one with another sign. */
const isVersion = (running: string, packaged: string): boolean => running.replace('-', '~') === packaged;

function Installed({ update }: { update: Update }) {
  const { version, supported, installing, last_outcome: outcome } = update;
  return (
    <Card title="Installed" data-test="update">
      <dl class="facts">
        <Fact name="Version">{version}</Fact>
        {outcome && (
          <Fact name="Last update">
            {momentText(outcome.at)} <small>{outcome.message}</small>
          </Fact>
        )}
      </dl>
      {!supported ? (
        <p class="hint">
          This gateway was not installed by its package, so it takes none here: update it as it was installed.
        </p>
      ) : may('INSTALLER') ? (
        !installing && <Upload />
      ) : (
        <p class="hint">An installer can bring a newer version.</p>
      )}
    </Card>
  );
}

function Upload() {
  const [sent, setSent] = useState<{ name: string; share: number } | undefined>(undefined);
  const action = useAction(async (file: File) => {
    handedOver.value = undefined;
    setSent({ name: file.name, share: 0 });
    await sendPackage(`${UPDATE}/upload`, file, (share) => setSent({ name: file.name, share }));
  });
  return (
    <>
      {/* Stays while the file is sent: the keyboard is here. */}
      <DropArea accept=".deb" onFile={(file) => void action.start(file)}>
        {action.isBusy && sent ? sent.name : 'Drop the package of a newer version here, or choose one…'}
      </DropArea>
      {action.isBusy && sent && (
        <>
          <progress aria-label={`${sent.name} is sent`} value={sent.share} />
          <p class="hint" role="status">
            {sent.share < 1 ? 'It is sent…' : 'It is judged…'}
          </p>
        </>
      )}
      {!action.isBusy && <p class="hint">Nothing changes before you say so.</p>}
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
    <Card title={`Version ${to} is here`} data-test="uploaded">
      <dl class="facts">
        <Fact name="Signed">by a key that this version knows</Fact>
        <Fact name="Size">
          {bytesText(uploaded.size_bytes)} <small>{bytesText(uploaded.installed_bytes)} installed</small>
        </Fact>
        <Fact name="Processor">{uploaded.architecture}</Fact>
      </dl>
      <ReleaseNotes markdown={uploaded.release_notes} />
      <ErrorNotice error={discarding.error} />
      {may('INSTALLER') && (
        <div class="actions end">
          <Button disabled={discarding.isBusy} onClick={() => void discarding.start()}>
            Forget it
          </Button>
          <AskButton
            kind="primary"
            isDangerous={false}
            title={`Install version ${to} in place of ${update.version}?`}
            text="The gateway stops and starts again with it: devices are not served for a minute or more. If it does not become ready, the version of now comes back with its state."
            confirm="Install"
            run={install}
          >
            Install…
          </AskButton>
        </div>
      )}
    </Card>
  );
}

function ReleaseNotes({ markdown }: { markdown: string }) {
  const blocks = notesBlocks(markdown);
  if (blocks.length === 0) return <p class="hint">It does not say what is new.</p>;
  return (
    <div class="release-notes" tabIndex={0} role="region" aria-label="What is new">
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
