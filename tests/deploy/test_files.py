"""The files of deploy/ pass their own linters, start the service with options that it has, and agree with each other.

The linters are those of the extra ``linters``, and systemd's; each is used where it is at hand.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.warm import LIMIT

from neardup.cli import main

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
USER, PORT = 10001, 8000


def ran(*command: str) -> str:
    """What a linter says, which must be content."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def tool(name: str, where: str) -> str:
    """A program that checks a file; the test is skipped where there is none."""
    found = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"{name} is not installed ({where})")
    return found


def instructions() -> list[tuple[str, str]]:
    """Name and rest of each instruction of the Dockerfile."""
    text = (DEPLOY / "Dockerfile").read_text()
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line and not line.startswith("#")]


def unit() -> dict[str, list[str]]:
    """The settings of the systemd unit."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "neardup.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def manifests() -> dict[str, dict[str, Any]]:
    """The objects of the Kubernetes file by their kinds."""
    return {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def container() -> dict[str, Any]:
    (only,) = manifests()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    return only


def last(name: str) -> str:
    return [rest for each, rest in instructions() if each == name][-1]


COMMANDS = {
    "Dockerfile": lambda: json.loads(last("CMD")),
    "kubernetes.yaml": lambda: container()["args"],
    "neardup.service": lambda: shlex.split(unit()["ExecStart"][0])[1:],
}


def test_dockerfile_passes_hadolint() -> None:
    assert ran(tool("hadolint", "the extra linters"), str(DEPLOY / "Dockerfile")) == ""


@pytest.mark.parametrize("script", ["build.sh", "start.sh"])
def test_scripts_pass_shellcheck(script: str) -> None:
    assert ran(tool("shellcheck", "the extra linters"), str(DEPLOY / script)) == ""


def test_compose_file_follows_the_schema_of_compose() -> None:
    check = tool("check-jsonschema", "the extra test")
    assert "ok" in ran(check, "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))


def test_manifests_follow_the_schemas_of_kubernetes() -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed (the extra linters)"
    )
    for manifest in manifests().values():
        validate.validate(manifest, validate.latest_version(), strict=True)
    broken = manifests()["StatefulSet"]
    broken["spec"]["template"]["spec"]["container"] = []
    with pytest.raises(validate.ValidationError):
        validate.validate(broken, validate.latest_version(), strict=True)


def test_unit_passes_systemd(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze", "Debian's systemd")
    program = tmp_path / "neardup-start"
    program.touch(mode=0o755)
    file = tmp_path / "neardup.service"
    text = (DEPLOY / "neardup.service").read_text()
    file.write_text(text.replace("/opt/neardup/bin/neardup-start", str(program)))
    assert ran(analyze, "verify", "--man=no", str(file)) == ""
    # 1.3 of 10 when it was written; an ordinary service without any of it has 9.2
    assert "OK" in ran(analyze, "security", "--offline=true", "--threshold=20", str(file))


@pytest.mark.parametrize("file", COMMANDS)
def test_options_are_those_of_the_command(file: str) -> None:
    words = COMMANDS[file]()
    serve = main.get_command(click.Context(main), "serve")
    given = serve.make_context("serve", ["index", *words], resilient_parsing=False).params
    assert given["port"] == PORT
    assert given["host"] == ("127.0.0.1" if file == "neardup.service" else "0.0.0.0")
    assert given["token_file"] is not None
    assert not given["no_token"]
    assert given["access_log"] in ("text", "json")


def test_all_run_as_one_unprivileged_user_and_write_to_one_place() -> None:
    assert last("USER") == f"{USER}:{USER}"
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["neardup"]
    assert (service["user"], service["read_only"], service["cap_drop"]) == (f"{USER}:{USER}", True, ["ALL"])
    pod = manifests()["StatefulSet"]["spec"]["template"]["spec"]
    assert {pod["securityContext"][name] for name in ("runAsUser", "runAsGroup", "fsGroup")} == {USER}
    assert pod["securityContext"]["runAsNonRoot"]
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    assert last("VOLUME") == "/data"
    assert "INDEX_FOLDER=/data/index" in last("ENV").split()
    assert [volume.split(":")[1] for volume in service["volumes"]] == ["/data"]
    assert {each["mountPath"] for each in container()["volumeMounts"] if not each.get("readOnly")} == {"/data", "/tmp"}
    folder = dict(word.split("=") for word in unit()["Environment"][0].split())["INDEX_FOLDER"]
    assert folder.startswith(f"/var/lib/{unit()['StateDirectory'][0]}/")


def test_tokens_lie_where_the_service_reads_them() -> None:
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    image = COMMANDS["Dockerfile"]()
    assert image[image.index("--token-file") + 1] == f"/run/secrets/{service['services']['neardup']['secrets'][0]}"
    assert service["services"]["neardup"]["secrets"][0] in service["secrets"]
    words = container()["args"]
    (mount,) = (each["mountPath"] for each in container()["volumeMounts"] if each.get("readOnly"))
    (name,) = manifests()["Secret"]["stringData"]
    assert words[words.index("--token-file") + 1] == f"{mount}/{name}"
    words = COMMANDS["neardup.service"]()
    assert words[words.index("--token-file") + 1] == f"/etc/{unit()['ConfigurationDirectory'][0]}/tokens"


def test_there_is_one_writer_and_time_to_stop() -> None:
    """The service gives what is at work 20 s; whoever stops it must give it more."""
    assert manifests()["StatefulSet"]["spec"]["replicas"] == 1
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["neardup"]
    pod = manifests()["StatefulSet"]["spec"]["template"]["spec"]
    told = (
        service["stop_grace_period"].removesuffix("s"),
        pod["terminationGracePeriodSeconds"],
        unit()["TimeoutStopSec"][0],
    )
    assert all(int(seconds) > 20 for seconds in told)


def test_the_image_is_built_of_what_the_context_lets_through() -> None:
    let = {
        line.removeprefix("!")
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = [rest.split()[:-1] for name, rest in instructions() if name == "COPY" and "--from" not in rest]
    assert let == {source for sources in copied for source in sources}
    assert all((DEPLOY.parent / source).exists() for source in let)


def test_the_folder_of_tokens_is_as_the_page_makes_it() -> None:
    """Else systemd says at each start that its mode is another."""
    page = (DEPLOY.parent / "docs" / "howto" / "deploy.md").read_text()
    (mode,) = re.findall(r"install -d -o root -g neardup -m (\d+) /etc/neardup", page)
    assert unit()["ConfigurationDirectoryMode"] == [f"0{mode}"]


def test_variables_of_other_services_do_not_reach_the_command() -> None:
    """A Service named neardup-serve would set NEARDUP_SERVE_PORT, which is no port."""
    assert manifests()["StatefulSet"]["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_the_options_of_a_new_index_are_words(tmp_path: Path) -> None:
    (tmp_path / "start.sh").write_text((DEPLOY / "start.sh").read_text())
    (tmp_path / "neardup").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "neardup").chmod(0o755)
    index = str(tmp_path / "index")
    env = {"INDEX_FOLDER": index, "INDEX_OPTIONS": "--shingle word:3 *"}
    command = ["/bin/sh", str(tmp_path / "start.sh"), "--port", "1"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"index create {index} --quiet --shingle word:3 *\nserve {index} --port 1\n"
