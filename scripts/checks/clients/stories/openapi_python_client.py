"""The story with a client of openapi-python-client."""

import base64
import io
import json
import os
import sys
import time

from gateway_client import AuthenticatedClient, models, types
from gateway_client.api.blueprints import upload_blueprint
from gateway_client.api.commands import execute_command
from gateway_client.api.device_logs import get_device_logs
from gateway_client.api.devices import assign_blueprint
from gateway_client.api.provisioning import provision_standalone_device
from gateway_client.api.rules import create_rule, delete_rule
from gateway_client.api.site import list_sites
from gateway_client.api.telemetry import get_device_latest_telemetry, query_timeseries

client = AuthenticatedClient(
    base_url=os.environ["GATEWAY"],
    token=os.environ["TOKEN"],
    auth_header_name="X-Service-Auth-Token",
    prefix="",
    headers={"Accept": "application/json, text/csv"},
)


def good(response):
    assert response.status_code == 200, response.content
    return response


site_id = list_sites.sync(client=client).sites[0].id
provisioned = provision_standalone_device.sync(
    client=client,
    body=models.ProvisionStandaloneDeviceBody.from_dict({"name": "Python", "protocol": "MQTT"}),
)
with open(os.environ["ZIP"], "rb") as file:
    form = models.UploadBlueprintFilesBody if hasattr(models, "UploadBlueprintFilesBody") else models.UploadBlueprintBody
    body = form(data=types.File(payload=io.BytesIO(file.read()), file_name="blueprint.zip"))
uploaded = upload_blueprint.sync(client=client, body=body)
blueprint_id = uploaded.blueprint.id
device_id = str(provisioned.device_id)
assigned = assign_blueprint.sync(
    device_id,
    client=client,
    body=models.AssignBlueprintBody(blueprint_id=str(blueprint_id)),
)
assert assigned.device.blueprint_id == blueprint_id
print(json.dumps(provisioned.config.to_dict()), flush=True)
sys.stdin.readline()
executed = execute_command.sync(device_id, client=client, body=models.ExecuteCommandBody(name="read_settings"))
assert executed.execution.state == "SUCCESS", executed
latest = get_device_latest_telemetry.sync(device_id, client=client)
assert "battery_soc" in latest.telemetry.to_dict()
series = good(
    query_timeseries.sync_detailed(
        client=client,
        body=models.QueryTimeseriesBody.from_dict(
            {
                "from": 0,
                "to": time.time(),
                "granularity": "1d",
                "telemetry": [{"device": device_id, "attribute": "battery_soc"}],
            }
        ),
    )
)
assert series.parsed.startswith("ts,"), series
logs = get_device_logs.sync(device_id, client=client, limit=5)
assert logs.total_count >= len(logs.logs)
code = base64.b64encode(b'log("hello")').decode()
made = create_rule.sync(
    site_id,
    client=client,
    body=models.CreateRuleBody.from_dict(
        {"slug": "python", "script": {"code": code, "runtime_version": "V3"}, "disable": True}
    ),
)
assert made.rule.slug == "python"
good(delete_rule.sync_detailed(site_id, "python", client=client))
