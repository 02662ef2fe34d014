"""The story with a Python client of openapi-generator."""

import base64
import json
import os
import sys
import time

import gateway_client as gateway

configuration = gateway.Configuration(
    host=os.environ["GATEWAY"], api_key={"service_token": os.environ["TOKEN"]}
)
with gateway.ApiClient(configuration) as client:
    site_id = gateway.SiteApi(client).list_sites().sites[0].id
    provisioned = gateway.ProvisioningApi(client).provision_standalone_device(
        gateway.ProvisionStandaloneDeviceRequest.from_dict({"name": "Generator", "protocol": "MQTT"})
    )
    with open(os.environ["ZIP"], "rb") as file:
        uploaded = gateway.BlueprintsApi(client).upload_blueprint(data=("blueprint.zip", file.read()))
    blueprint_id = uploaded.blueprint.id
    device_id = str(provisioned.device_id)
    assigned = gateway.DevicesApi(client).assign_blueprint(
        device_id, gateway.AssignBlueprintRequest(blueprint_id=str(blueprint_id))
    )
    assert assigned.device.blueprint_id == blueprint_id
    print(provisioned.config.to_json(), flush=True)
    sys.stdin.readline()
    commands = gateway.CommandsApi(client)
    executed = commands.execute_command(device_id, gateway.ExecuteCommandRequest(name="read_settings"))
    assert executed.execution.state == "SUCCESS", executed
    telemetry = gateway.TelemetryApi(client)
    assert "battery_soc" in telemetry.get_device_latest_telemetry(device_id).telemetry
    series = telemetry.query_timeseries(
        gateway.QueryTimeseriesRequest.from_dict(
            {
                "from": 0,
                "to": time.time(),
                "granularity": "1d",
                "telemetry": [{"device": device_id, "attribute": "battery_soc"}],
            }
        ),
        # It prefers JSON, because refusals are JSON.
        _headers={"Accept": "text/csv"},
    )
    assert series.startswith("ts,"), series
    logs = gateway.DeviceLogsApi(client).get_device_logs(device_id, limit=5)
    assert logs.total_count >= len(logs.logs)
    rules = gateway.RulesApi(client)
    code = base64.b64encode(b'log("hello")').decode()
    made = rules.create_rule(
        site_id,
        gateway.CreateRuleRequest.from_dict(
            {"slug": "generator", "script": {"code": code, "runtime_version": "V3"}, "disable": True}
        ),
    )
    assert made.rule.slug == "generator"
    rules.delete_rule(site_id, "generator")
