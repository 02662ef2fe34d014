/** The present power flows of the site: power by width, direction by arrow and word, and a drop for each new reading. */
import {
  directionOf,
  doingOf,
  lateText,
  type PowerNow,
  powerText,
  type Role,
  type RoleNow,
} from './energy.ts';
import { type Curve, useDrops } from './flow-drops.ts';
import { say } from '../words/index.ts';

/** Part of the plane that is shown. */
const STAGE = { left: 12, top: 0, width: 456, height: 362 };
const HUB = { x: 240, y: 168 };
const RADIUS = 43;
/** Longer names are narrowed, so that they stay in their circle. */
const NAME_LETTERS = 10;
const NARROWED = { textLength: 72, lengthAdjust: 'spacingAndGlyphs' } as const;

const PLACES: Readonly<Record<Role, { x: number; y: number }>> = {
  pv: { x: 240, y: 50 },
  generator: { x: 96, y: 66 },
  grid: { x: 58, y: 186 },
  load: { x: 422, y: 186 },
  electrolyser: { x: 96, y: 296 },
  battery: { x: 240, y: 288 },
  ev_charger: { x: 384, y: 296 },
  heat_pump: { x: 384, y: 66 },
};

const ICONS: Readonly<Record<Role, string>> = {
  pv: 'M12 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3 19 19M5 19l1.7-1.7M17.3 6.700 19 5',
  generator: 'M13 2 5 14h6l-1 8 9-13h-6.500z',
  battery: 'M7 6h10v16H7zM10 3h4v3h-4zM10 12h4M12 10v4',
  grid: 'M12 2 6 22M12 2l6 20M8.500 9h7M5 9h14M7.500 15h9M4 6.500h16',
  load: 'M3 11 12 3l9 8M6 9v12h12V9M10 21v-6h4v6',
  electrolyser: 'M12 3c4 5 6 7.500 6 11a6 6 0 0 1-12 0c0-3.500 2-6 6-11z',
  ev_charger: 'M4 17v-5l2.500-6h11L20 12v5zM4 12h16M7.500 20v-3M16.500 20v-3',
  heat_pump:
    'M3 5h18v14H3zM9 8.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM9 10v4M7 12h4M16 9h2.500M16 12h2.500M16 15h2.500',
};

export function FlowPicture({ power }: { power: PowerNow }) {
  const most = Math.max(1_000, ...power.roles.map(({ power_w: powerW }) => Math.abs(powerW ?? 0)));
  const flowing = power.roles.filter((now) => directionOf(now) !== 0);
  const stage = useDrops(power.at, flowing.map(travelOf));
  return (
    <figure class="flow" data-test="energy-flow">
      <div class="flow-stage" ref={stage}>
        <svg
          viewBox={`${STAGE.left} ${STAGE.top} ${STAGE.width} ${STAGE.height}`}
          role="group"
          aria-label={say.site.whatFlows}
        >
          {power.roles.map((now) => (
            <Line now={now} most={most} key={now.role} />
          ))}
          <circle class="hub" cx={HUB.x} cy={HUB.y} r="7" />
          {power.roles.map((now) => (
            <Node now={now} power={power} key={now.role} />
          ))}
        </svg>
        {flowing.map(({ role }) => (
          <i class={`drop-place ${role}`} key={role} aria-hidden="true" />
        ))}
      </div>
    </figure>
  );
}

/** From the place of a role to the hub; straight where its middle lies between them. */
function curveOf(role: Role): Curve {
  const from = PLACES[role];
  return { from, by: { x: (from.x + HUB.x) / 2, y: HUB.y }, to: HUB };
}

/** The way of a drop in the direction of the energy, in parts of the stage. */
function travelOf(now: RoleNow): Curve {
  const { from, by, to } = curveOf(now.role);
  const [begin, middle, end] = [from, by, to].map(({ x, y }) => ({
    x: (x - STAGE.left) / STAGE.width,
    y: (y - STAGE.top) / STAGE.height,
  })) as [Curve['from'], Curve['by'], Curve['to']];
  return directionOf(now) > 0 ? { from: begin, by: middle, to: end } : { from: end, by: middle, to: begin };
}

function Line({ now, most }: { now: RoleNow; most: number }) {
  const place = PLACES[now.role];
  const direction = directionOf(now);
  const { by } = curveOf(now.role);
  const width = 2 + 7 * Math.sqrt(Math.abs(now.power_w ?? 0) / most);
  const middle = { x: (place.x + HUB.x) / 2, y: (place.y + HUB.y) / 2 };
  // On the curve the middle lies nearer to the hub.
  const arrow = place.x === HUB.x ? middle : { x: middle.x, y: (place.y + 3 * HUB.y) / 4 };
  const angle = (Math.atan2(HUB.y - place.y, HUB.x - place.x) * 180) / Math.PI + (direction < 0 ? 180 : 0);
  return (
    <g class={`flow-line ${now.role} ${now.power_w === null ? 'unknown' : ''}`}>
      <path
        d={`M${place.x} ${place.y}Q${by.x} ${by.y} ${HUB.x} ${HUB.y}`}
        stroke-width={direction === 0 ? 2 : width}
      />
      {direction !== 0 && (
        <path
          class="arrow"
          d="M-7 -8 8 0 -7 8z"
          transform={`translate(${arrow.x} ${arrow.y}) rotate(${place.x === HUB.x ? angle : direction * (place.x < HUB.x ? 1 : -1) > 0 ? 0 : 180})`}
        />
      )}
    </g>
  );
}

function Node({ now, power }: { now: RoleNow; power: PowerNow }) {
  const { x, y } = PLACES[now.role];
  const isKnown = now.power_w !== null;
  const shown = isKnown ? powerText(now.power_w ?? 0) : { text: '–', unit: '' };
  const charge = now.state_of_charge_percent;
  const name = say.site.role[now.role];
  const late = isKnown ? lateText(now, power) : undefined;
  // The arrow shows the direction as well.
  const doing = late ?? doingOf(now);
  const devices = [
    ...new Set(power.sources.filter(({ role }) => role === now.role).map(({ device_id: id }) => id)),
  ];
  const amount = `${shown.text} ${shown.unit}`.trim();
  // In the visible order, so that speech control finds the label.
  const said =
    charge === null ? [name, amount, doing] : [name, doing, amount, say.site.chargedTo(Math.round(charge))];
  if (late !== undefined) said.push(doingOf(now));
  const inside = (text: string) => (
    <text class="doing" x={x} y={y + 23} {...(text.length > NAME_LETTERS && NARROWED)}>
      {text}
    </text>
  );
  const outside = (text: string) => (
    // Beside the topmost node, whose line goes down.
    <text
      class={now.role === 'pv' ? 'name beside' : 'name'}
      x={now.role === 'pv' ? x + RADIUS + 10 : x}
      y={now.role === 'pv' ? y + 5 : y + RADIUS + 19}
    >
      {text}
    </text>
  );
  const content = (
    <>
      <circle class="disc" cx={x} cy={y} r={RADIUS} />
      {charge !== null && <ChargeRing x={x} y={y} percent={charge} />}
      <path class="icon" d={ICONS[now.role]} transform={`translate(${x - 10} ${y - 36}) scale(.84)`} />
      {charge === null ? inside(name) : outside(`${name}, ${doing}`)}{' '}
      <text class="power" x={x} y={y + 8}>
        {shown.text}{' '}
        <tspan class="unit" dx="-1">
          {shown.unit}
        </tspan>
      </text>{' '}
      {charge === null ? outside(doing) : inside(`${Math.round(charge)} %`)}
    </>
  );
  const kind = `flow-node ${now.role} ${isKnown ? '' : 'unknown'}`;
  return devices.length === 1 ? (
    <a class={kind} href={`#/devices/${devices[0]}`} aria-label={said.join(', ')}>
      {content}
    </a>
  ) : (
    <g class={kind} role="img" aria-label={said.join(', ')}>
      {content}
    </g>
  );
}

function ChargeRing({ x, y, percent }: { x: number; y: number; percent: number }) {
  return (
    <circle
      class="charge"
      cx={x}
      cy={y}
      r={RADIUS}
      pathLength={100}
      stroke-dasharray={`${Math.min(100, Math.max(0, percent))} 100`}
      transform={`rotate(-90 ${x} ${y})`}
    />
  );
}
