/** Operations on the ports of the built-in module. */
import type { Route } from '../../platform/http/index.ts';
import { ioPortRoutes } from './io-routes.ts';
import { serialPortRoutes } from './serial-routes.ts';
import type { ModulePorts } from './service.ts';

export function modulePortRoutes(ports: ModulePorts): Route[] {
  return [...serialPortRoutes(ports), ...ioPortRoutes(ports)];
}
