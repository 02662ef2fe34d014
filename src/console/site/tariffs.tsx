/** The tariffs of the site: what energy costs and brings, from which day on. */
import type { EnergyTariffsOnWire } from '../../capabilities/energy/schema.ts';
import { call } from '../api.ts';
import { attributeTitle } from '../format.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { deviceIds, type LiveDevice, liveDevices } from '../live.ts';
import { periodAt } from '../period.ts';
import { may } from '../session.ts';
import { DECIMAL, DECIMAL_FROM_0, textOfNumber, typedNumber } from '../typed-number.ts';
import { Awaited, Button, Card, Form, InputField, SelectField, useAction, useStored } from '../ui.tsx';
import { useTypedOver } from '../ui/typed.ts';
import { say } from '../words/index.ts';
import { zone } from '../zone.ts';

const PATH = '/v3/site/energy/tariffs';

interface Answer {
  energy_tariffs: EnergyTariffsOnWire;
}
type Tariff = EnergyTariffsOnWire['items'][number];
type Price = Tariff['import_price'];
type Kind = Price['kind'] | 'NONE';

/** As texts of a form. */
type TypedPrice = { kind: Kind } & Record<Exclude<keyof Price, 'kind'>, string>;
interface TypedTariff {
  valid_from: string;
  import_price: TypedPrice;
  export_price: TypedPrice;
  vat_percent: string;
  standing_charge_per_day: string;
  standing_charge_per_month: string;
}
interface Typed {
  currency: string;
  items: TypedTariff[];
}

const textOf = (value: number | null): string => (value === null ? '' : textOfNumber(value));

const typedPrice = (price: Price | null): TypedPrice => ({
  kind: price?.kind ?? 'NONE',
  price: textOf(price?.price ?? null),
  low_price: textOf(price?.low_price ?? null),
  low_times: price?.low_times ?? '',
  device_id: price?.device_id ?? '',
  attribute: price?.attribute ?? '',
  surcharge_per_kwh: textOf(price?.surcharge_per_kwh ?? 0),
});

const typedOf = ({ energy_tariffs: { currency, items } }: Answer): Typed => ({
  currency: currency ?? 'EUR',
  items: items.map((tariff) => ({
    valid_from: tariff.valid_from,
    import_price: typedPrice(tariff.import_price),
    export_price: typedPrice(tariff.export_price),
    vat_percent: textOf(tariff.vat_percent),
    standing_charge_per_day: textOf(tariff.standing_charge_per_day),
    standing_charge_per_month: textOf(tariff.standing_charge_per_month),
  })),
});

const NEW: TypedTariff = {
  valid_from: '',
  import_price: { ...typedPrice(null), kind: 'FIXED' },
  export_price: typedPrice(null),
  vat_percent: '0',
  standing_charge_per_day: '0',
  standing_charge_per_month: '0',
};

const numberIn = (text: string): number | null => typedNumber(text) ?? null;

/** Only what its kind needs. */
function priceOf({ kind, ...typed }: TypedPrice): object | null {
  if (kind === 'NONE') return null;
  const surcharge = { kind, surcharge_per_kwh: numberIn(typed.surcharge_per_kwh) };
  if (kind === 'DEVICE') return { ...surcharge, device_id: typed.device_id, attribute: typed.attribute };
  const fixed = { ...surcharge, price: numberIn(typed.price) };
  if (kind === 'FIXED') return fixed;
  return { ...fixed, low_price: numberIn(typed.low_price), low_times: typed.low_times };
}

const bodyOf = ({ currency, items }: Typed) => ({
  currency: currency.trim().toUpperCase(),
  items: items.map(({ valid_from, import_price, export_price, ...numbers }) => ({
    valid_from,
    import_price: priceOf(import_price),
    export_price: priceOf(export_price),
    ...Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, numberIn(text)])),
  })),
});

export function TariffsCard() {
  const { answer: tariffs, error } = useStored(() => call<Answer>('GET', PATH));
  const answer = deviceIds.value && tariffs;
  return (
    <Card title={say.site.money.tariff} data-test="energy-tariffs">
      <p class="hint">{say.site.money.tariffHint}</p>
      <Awaited answer={answer} error={error} />
      {answer && <TariffsForm answer={answer} />}
    </Card>
  );
}

function TariffsForm({ answer }: { answer: Answer }) {
  const { typed, before, take, beside, change: put, bound } = useTypedOver(typedOf(answer), answer);
  const { items } = typed;
  const action = useAction(async () => {
    const joined = beside(typedOf(await call<Answer>('GET', PATH)));
    take(typedOf(await call<Answer>('PATCH', PATH, bodyOf(joined))));
  });
  const list = (next: TypedTariff[]): void => {
    action.clear();
    put({ items: next });
  };
  const today = periodAt('day', gatewayNowMs(), zone.value);
  return (
    <Form
      action={action}
      submit={say.everywhere.save}
      done={say.everywhere.saved}
      isIncomplete={JSON.stringify(typed) === JSON.stringify(before)}
      isReadOnly={!may('OWNER')}
      buttons={
        <Button onClick={() => list([...items, { ...(items.at(-1) ?? NEW), valid_from: today }])}>
          {say.site.money.add}
        </Button>
      }
    >
      {items.length > 0 && (
        <InputField
          label={say.site.money.currency}
          {...bound('currency')}
          pattern=" *[A-Za-z]{3} *"
          isMarked
        />
      )}
      {items.map((tariff, index) => (
        <TariffFields
          key={index}
          tariff={tariff}
          onChange={(part) =>
            put({ items: items.map((one, place) => (place === index ? { ...one, ...part } : one)) })
          }
          onRemove={() => list(items.filter((_, place) => place !== index))}
        />
      ))}
    </Form>
  );
}

function TariffFields({
  tariff,
  onChange,
  onRemove,
}: {
  tariff: TypedTariff;
  onChange: (part: Partial<TypedTariff>) => void;
  onRemove: () => void;
}) {
  const { money } = say.site;
  const number = (name: 'vat_percent' | 'standing_charge_per_day' | 'standing_charge_per_month') => ({
    name,
    value: tariff[name],
    onValue: (text: string) => onChange({ [name]: text }),
    ...DECIMAL_FROM_0,
  });
  return (
    <section class="energy-source">
      <InputField
        label={money.from}
        name="valid_from"
        type="date"
        value={tariff.valid_from}
        onValue={(valid_from) => onChange({ valid_from })}
        isMarked
      />
      <InputField label={money.vat} {...number('vat_percent')} />
      <InputField label={money.perMonth} {...number('standing_charge_per_month')} />
      <InputField label={money.perDay} {...number('standing_charge_per_day')} />
      <PriceFields
        label={money.buying}
        name="import"
        kinds={['FIXED', 'TWO_RATE', 'DEVICE']}
        price={tariff.import_price}
        onChange={(import_price) => onChange({ import_price })}
      />
      <PriceFields
        label={money.selling}
        name="export"
        kinds={['NONE', 'FIXED', 'TWO_RATE', 'DEVICE']}
        price={tariff.export_price}
        onChange={(export_price) => onChange({ export_price })}
      />
      <div class="field">
        <Button aria-label={say.everywhere.removeName(tariff.valid_from)} onClick={onRemove}>
          {say.everywhere.remove}
        </Button>
      </div>
    </section>
  );
}

function PriceFields({
  label,
  name: side,
  kinds,
  price,
  onChange,
}: {
  label: string;
  name: 'import' | 'export';
  kinds: readonly Kind[];
  price: TypedPrice;
  onChange: (price: TypedPrice) => void;
}) {
  const { money } = say.site;
  const { kind } = price;
  const bound = (name: Exclude<keyof TypedPrice, 'kind'>) => ({
    name: `${side}_${name}`,
    value: price[name],
    onValue: (text: string) => onChange({ ...price, [name]: text }),
  });
  return (
    <fieldset>
      <legend>{label}</legend>
      <SelectField
        label={money.sort}
        name={`${side}_kind`}
        value={kind}
        onValue={(chosen) => onChange({ ...price, kind: chosen })}
        choices={kinds.map((value) => ({ value, text: money.kind[value] }))}
      />
      {(kind === 'FIXED' || kind === 'TWO_RATE') && (
        <InputField label={money.perKwh} {...bound('price')} {...DECIMAL} isMarked />
      )}
      {kind === 'TWO_RATE' && (
        <>
          <InputField label={money.low} {...bound('low_price')} {...DECIMAL} isMarked />
          <InputField label={money.lowTimes} hint={money.lowTimesHint} {...bound('low_times')} isMarked />
        </>
      )}
      {kind === 'DEVICE' && <DeviceFields bound={bound} id={price.device_id} />}
      {kind !== 'NONE' && <InputField label={money.surcharge} {...bound('surcharge_per_kwh')} {...DECIMAL} />}
    </fieldset>
  );
}

type Bound = (name: 'device_id' | 'attribute') => {
  name: string;
  value: string;
  onValue: (text: string) => void;
};

function DeviceFields({ bound, id }: { bound: Bound; id: string }) {
  const devices = liveDevices();
  const none = { value: '', text: say.everywhere.choose };
  return (
    <>
      <SelectField
        label={say.everywhere.device}
        {...bound('device_id')}
        choices={[none, ...devices.map(({ device }) => ({ value: device.id, text: device.name }))]}
      />
      <SelectField
        label={say.site.money.attribute}
        {...bound('attribute')}
        choices={[none, ...pricesOf(devices.find(({ device }) => device.id === id))]}
      />
    </>
  );
}

/** Numbers per kWh; all numbers where there is none. */
function pricesOf(live: LiveDevice | undefined): { value: string; text: string }[] {
  const numbers = Object.entries(live?.manifest?.telemetry ?? {}).filter(([, { type }]) =>
    /^(float|integer)$/.test(type),
  );
  const prices = numbers.filter(([, { unit }]) => unit?.endsWith('/kWh') === true);
  return (prices.length > 0 ? prices : numbers).map(([name, attribute]) => ({
    value: name,
    text: attributeTitle(name, attribute),
  }));
}
