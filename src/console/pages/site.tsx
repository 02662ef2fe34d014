/** The one site: its name, place and time zone. */
import { callFor } from '../api.ts';
import { changesOf } from '../changes.ts';
import { may } from '../session.ts';
import { loadSite, takeSite } from '../site-name.ts';
import { SourcesCard } from '../site/sources.tsx';
import { TariffsCard } from '../site/tariffs.tsx';
import { Awaited, Button, Card, Form, InputField, PageHead, useAction, useStored } from '../ui.tsx';
import { useTypedOver } from '../ui/typed.ts';
import type { Site } from '../shapes.ts';
import { DECIMAL, textOfNumber, typedNumber } from '../typed-number.ts';
import { ownZone } from '../zone.ts';
import { say } from '../words/index.ts';

const textOfDegrees = (degrees: number | undefined): string =>
  degrees === undefined ? '' : textOfNumber(degrees);

const typedOf = ({ name, timezone, location }: Site) => ({
  name,
  timezone,
  place: location?.name ?? '',
  latitude: textOfDegrees(location?.latitude),
  longitude: textOfDegrees(location?.longitude),
});
type Typed = ReturnType<typeof typedOf>;

/** An emptied field resets its member. */
function changeOf(before: Typed, typed: Typed): Record<string, unknown> {
  const { place, latitude, longitude, ...rest } = changesOf(before, typed) as Partial<Typed>;
  const parts = Object.entries({ name: place, latitude, longitude });
  const changed = parts.filter((part): part is [string, string] => part[1] !== undefined);
  const given = changed.filter(([, text]) => text.trim() !== '');
  const emptied = changed.filter(([, text]) => text.trim() === '');
  return {
    ...rest,
    location: Object.fromEntries(
      given.map(([key, text]) => [key, key === 'name' ? text : typedNumber(text)]),
    ),
    _reset: emptied.map(([key]) => `location.${key}`),
  };
}

export function SitePage() {
  const { answer, error } = useStored(loadSite);
  return (
    <>
      <PageHead title={say.frame.site} />
      <Awaited answer={answer} error={error} />
      <div class="columns wide">
        {answer && <SiteForm stored={answer} />}
        <SourcesCard />
        <TariffsCard />
      </div>
    </>
  );
}

function SiteForm({ stored }: { stored: Site }) {
  const { typed, take, beside, change, bound } = useTypedOver(typedOf(stored));
  const action = useAction(async () => {
    const theirs = typedOf(await loadSite());
    const now = await callFor<Site>('site', 'PATCH', '/v3/site', changeOf(theirs, beside(theirs)));
    takeSite(now);
    take(typedOf(now));
  });
  const own = ownZone();
  const isReadOnly = !may('OWNER');
  const other = (
    <>
      {say.site.browserIsIn(own)}{' '}
      {!isReadOnly && <Button onClick={() => change({ timezone: own })}>{say.site.takeZone(own)}</Button>}
    </>
  );
  return (
    <Card>
      <Form action={action} submit={say.everywhere.save} done={say.everywhere.saved} isReadOnly={isReadOnly}>
        <InputField label={say.everywhere.name} {...bound('name')} required maxLength={255} />
        <InputField
          label={say.site.timeZone}
          hint={
            <>
              {say.site.zoneHint} {typed.timezone !== own && other}
            </>
          }
          {...bound('timezone')}
          required
          list="time-zones"
        />
        <datalist id="time-zones">
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option value={zone} key={zone} />
          ))}
        </datalist>
        <InputField
          label={say.site.place}
          {...bound('place')}
          placeholder={say.site.examplePlace}
          data-field="location.name"
        />
        <div class="pair">
          <InputField
            label={say.site.latitude}
            hint={say.site.latitudeHint}
            {...DECIMAL}
            {...bound('latitude')}
          />
          <InputField
            label={say.site.longitude}
            hint={say.site.longitudeHint}
            {...DECIMAL}
            {...bound('longitude')}
          />
        </div>
      </Form>
    </Card>
  );
}
