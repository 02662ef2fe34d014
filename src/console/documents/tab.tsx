/** What people keep with a device: notes, photos of its type plate and wiring, its manual. */
import { useState } from 'preact/hooks';
import { call, callFor, callForList, path, remove } from '../api.ts';
import { bytesText, momentText } from '../format.ts';
import { loadDevice, type LiveDevice } from '../live.ts';
import { useDevice } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import type { Device, DeviceDocument } from '../shapes.ts';
import {
  AskButton,
  Awaited,
  Button,
  Card,
  Dialog,
  ErrorNotice,
  Field,
  Form,
  InputField,
  useAction,
  useStored,
} from '../ui.tsx';
import { adoptStyles } from '../ui/late-styles.ts';
import { useTypedOver } from '../ui/typed.ts';
import { say } from '../words/later.ts';
import styles from './documents.css' with { type: 'text' };
import { shrunk } from './shrink.ts';

const NOTES_MAX = 4_000;

adoptStyles(styles);

export function DocumentsTab({ live }: { live: LiveDevice }) {
  const { device } = useDevice(live);
  return (
    <div class="columns">
      <Notes device={device} />
      <Documents device={device} />
    </div>
  );
}

function Notes({ device }: { device: Device }) {
  const { typed, before, take, beside, bound } = useTypedOver({ notes: device.notes ?? '' });
  const saving = useAction(async () => {
    const address = path`/v3/devices/${device.id}`;
    const { notes = '' } = await callFor<Device>('device', 'GET', `${address}?expand=notes`);
    const wanted = beside({ notes });
    await call('PATCH', address, wanted);
    take(wanted);
    await loadDevice(device.id);
  });
  if (!may('OWNER'))
    return (
      <Card title={say.documents.notes}>
        {before.notes === '' ? (
          <p class="hint">{say.documents.noNotes}</p>
        ) : (
          <p class="notes">{before.notes}</p>
        )}
      </Card>
    );
  const { onValue, ...rest } = bound('notes');
  return (
    <Card title={say.documents.notes}>
      <Form
        action={saving}
        submit={say.everywhere.save}
        done={say.everywhere.saved}
        isIncomplete={typed.notes === before.notes}
      >
        <Field label={say.documents.notesLabel} hint={say.documents.notesHint}>
          <textarea
            rows={6}
            dir="auto"
            maxLength={NOTES_MAX}
            {...rest}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
        </Field>
      </Form>
    </Card>
  );
}

const contentOf = ({ device_id: deviceId, id }: DeviceDocument): string =>
  path`/v3/devices/${deviceId}/documents/${id}/content`;

const isPhoto = ({ media_type: type }: DeviceDocument): boolean => type.startsWith('image/');

function Documents({ device }: { device: Device }) {
  const address = path`/v3/devices/${device.id}/documents`;
  const { answer, error } = useStored(
    async () => (await callForList<DeviceDocument>(address, 'documents')).items,
    [address],
  );
  const photos = answer?.filter(isPhoto) ?? [];
  const others = answer?.filter((one) => !isPhoto(one)) ?? [];
  return (
    <Card title={say.documents.photosAndDocuments}>
      <Awaited answer={answer} error={error} />
      {answer?.length === 0 && <p class="hint">{say.documents.none}</p>}
      {photos.length > 0 && (
        <ul class="photos">
          {photos.map((one) => (
            <Photo key={one.id} photo={one} />
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <ul class="rows">
          {others.map((one) => (
            <li key={one.id}>
              <span>
                <a href={contentOf(one)} download dir="auto">
                  {one.name}
                </a>
                <small>
                  {bytesText(one.size_bytes)} · {momentText(one.created_at)}
                </small>
              </span>
              <Delete document={one} />
            </li>
          ))}
        </ul>
      )}
      {may('OWNER') && <Upload address={address} />}
    </Card>
  );
}

function Photo({ photo }: { photo: DeviceDocument }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        class="photo"
        aria-label={say.documents.show(photo.name)}
        onClick={() => setOpen(true)}
      >
        <img src={contentOf(photo)} alt="" loading="lazy" />
      </button>
      <small dir="auto">{photo.name}</small>
      {isOpen && (
        <Dialog title={photo.name} onClose={() => setOpen(false)}>
          <img class="whole-photo" src={contentOf(photo)} alt={photo.name} />
          <p class="hint">{momentText(photo.created_at)}</p>
          <div class="actions end">
            <a class="button" href={contentOf(photo)} download>
              {say.everywhere.download}
            </a>
            <Delete document={photo} />
            <Button onClick={() => setOpen(false)}>{say.everywhere.close}</Button>
          </div>
        </Dialog>
      )}
    </li>
  );
}

function Delete({ document: one }: { document: DeviceDocument }) {
  if (!may('OWNER')) return null;
  return (
    <AskButton
      title={say.everywhere.deleteTitle(one.name)}
      text={say.documents.deleteText}
      confirm={say.everywhere.delete}
      aria-label={say.everywhere.deleteName(one.name)}
      run={() => remove(path`/v3/devices/${one.device_id}/documents/${one.id}`)}
    >
      {say.everywhere.delete}
    </AskButton>
  );
}

const ENDING = /\.[A-Za-z0-9]{1,5}$/;

/** Two ways, because a phone offers its camera for photos only. */
function Upload({ address }: { address: string }) {
  const [name, setName] = useState('');
  const sending = useAction(async (file: File) => {
    const content = file.type.startsWith('image/') ? await shrunk(file) : file;
    const shown = name.trim() === '' ? file.name.replace(ENDING, '') || file.name : name.trim();
    await call('POST', `${address}?${new URLSearchParams({ name: shown })}`, content);
    setName('');
  });
  const pick = (text: string, accept: string) => (
    <label class="button pick">
      <input
        type="file"
        accept={accept}
        disabled={sending.isBusy}
        onChange={({ currentTarget: input }) => {
          const [file] = input.files ?? [];
          if (file) void sending.start(file);
          // The same file may be chosen again.
          input.value = '';
        }}
      />
      {text}
    </label>
  );
  return (
    <>
      <InputField
        label={say.documents.name}
        hint={say.documents.nameHint}
        value={name}
        onValue={setName}
        maxLength={255}
        autocomplete="off"
      />
      <div class="actions">
        {pick(say.documents.addPhoto, 'image/*')}
        {pick(say.documents.addDocument, 'application/pdf,text/plain,.pdf,.txt')}
      </div>
      {sending.isBusy && (
        <p class="hint" role="status">
          {say.documents.sending}
        </p>
      )}
      <ErrorNotice error={sending.error} />
    </>
  );
}
