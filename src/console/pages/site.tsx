/** The one site: its name, place and time zone. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { may } from '../session.ts';
import { SourcesCard } from '../site/sources.tsx';
import {
  Button,
  Card,
  ErrorNotice,
  Field,
  Form,
  Input,
  Loading,
  Notice,
  PageHead,
  useAction,
  useAnswer,
} from '../ui.tsx';
import type { Site } from '../shapes.ts';

interface Typed {
  name: string;
  timezone: string;
  place: string;
  latitude: string;
  longitude: string;
}

function typedOf({ name, timezone, location }: Site): Typed {
  return {
    name,
    timezone,
    place: location?.name ?? '',
    latitude: location?.latitude?.toString() ?? '',
    longitude: location?.longitude?.toString() ?? '',
  };
}

/** What is emptied is taken away. */
function changeOf({ name, timezone, place, latitude, longitude }: Typed): Record<string, unknown> {
  const parts = { name: place, latitude, longitude };
  const given = Object.entries(parts).filter(([, text]) => text.trim() !== '');
  const emptied = Object.entries(parts).filter(([, text]) => text.trim() === '');
  return {
    name,
    timezone,
    location: Object.fromEntries(given.map(([key, text]) => [key, key === 'name' ? text : Number(text)])),
    _reset: emptied.map(([key]) => `location.${key}`),
  };
}

export function SitePage() {
  const { answer, error } = useAnswer(() => call<{ site: Site }>('GET', '/v3/site'), []);
  return (
    <>
      <PageHead title="Site" />
      <ErrorNotice error={error} />
      {answer ? <SiteForm site={answer.site} /> : error === undefined && <Loading />}
      <SourcesCard />
    </>
  );
}

function SiteForm({ site }: { site: Site }) {
  const [typed, setTyped] = useState(() => typedOf(site));
  const [isDone, setDone] = useState(false);
  useEffect(() => setDone(false), [typed]);
  const action = useAction(async () => {
    const answer = await call<{ site: Site }>('PATCH', '/v3/site', changeOf(typed));
    setTyped(typedOf(answer.site));
    setTimeout(() => setDone(true));
  });
  const change = (part: keyof Typed) => (text: string) => setTyped({ ...typed, [part]: text });
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isReadOnly = !may('OWNER');
  return (
    <Card>
      <Form onSubmit={action.start}>
        <fieldset disabled={isReadOnly} class="plain">
          <Field label="Name">
            <Input value={typed.name} onValue={change('name')} name="name" required maxLength={255} />
          </Field>
          <Field
            label="Time zone"
            hint={
              typed.timezone === own ? (
                'Rules and schedules follow it.'
              ) : (
                <>
                  Rules and schedules follow it. This browser is in {own}.{' '}
                  {!isReadOnly && <Button onClick={() => change('timezone')(own)}>Take {own}</Button>}
                </>
              )
            }
          >
            <Input
              value={typed.timezone}
              onValue={change('timezone')}
              name="timezone"
              required
              list="time-zones"
            />
          </Field>
          <datalist id="time-zones">
            {Intl.supportedValuesOf('timeZone').map((zone) => (
              <option value={zone} key={zone} />
            ))}
          </datalist>
          <Field label="Place">
            <Input value={typed.place} onValue={change('place')} name="place" placeholder="Hall 2" />
          </Field>
          <div class="pair">
            <Field label="Latitude" hint="−90 to 90">
              <Input
                type="number"
                step="any"
                min={-90}
                max={90}
                value={typed.latitude}
                onValue={change('latitude')}
                name="latitude"
              />
            </Field>
            <Field label="Longitude" hint="−180 to 180">
              <Input
                type="number"
                step="any"
                min={-180}
                max={180}
                value={typed.longitude}
                onValue={change('longitude')}
                name="longitude"
              />
            </Field>
          </div>
        </fieldset>
        <ErrorNotice error={action.error} />
        {isDone && <Notice kind="success">Saved.</Notice>}
        {!isReadOnly && (
          <div class="actions end">
            <Button kind="primary" type="submit" disabled={action.isBusy}>
              Save
            </Button>
          </div>
        )}
      </Form>
    </Card>
  );
}
