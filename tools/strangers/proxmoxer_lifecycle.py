"""The life of a VM as a user of proxmoxer writes it, against the server named by the arguments.

usage: PROXMOX_VE_API_TOKEN=user@realm!id=secret proxmoxer_lifecycle.py HOST:PORT CERTIFICATE.pem NODE

Prints one PASS or FAIL line per step and exits with the number of failures. TLS is verified against the certificate.
The template and the password of root are those of the recorded world of the simulator.
"""

import os
import sys
import time

import requests
from proxmoxer import ProxmoxAPI, ResourceException
from proxmoxer.tools import Tasks

HOST, CERTIFICATE, NODE = sys.argv[1:4]
TEMPLATE = 9100
PATIENCE_S = float(os.environ.get("STRANGER_PATIENCE", "120"))
failures = 0


def one_line(value):
    return " ".join(str(value).split())


def step(title):
    """Runs the function at once and reports; a step after a failed one still runs, so that all defects show."""

    def run(work):
        global failures
        try:
            detail = work()
            print(f"PASS {title}" + (f" ({one_line(detail)})" if detail else ""), flush=True)
        except Exception as error:  # whatever went wrong is the finding
            failures += 1
            print(f"FAIL {title}: {type(error).__name__}: {one_line(error)}", flush=True)

    return run


def finished(upid):
    status = Tasks.blocking_status(api, upid, timeout=PATIENCE_S, polling_interval=0.2)
    assert status is not None, f"{upid} did not end"
    assert status["exitstatus"] == "OK", status["exitstatus"]
    return status["type"]


def refused(work, status):
    try:
        work()
    except ResourceException as error:
        assert error.status_code == status, f"{error.status_code} {error.content}"
        return f"{error.status_code} {error.content.strip()}"
    raise AssertionError("it was accepted")


def until(question):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            answer = question()
            if answer:
                return answer
        except ResourceException:
            pass
        assert time.monotonic() < deadline, "no answer in time"
        time.sleep(0.2)


token, secret = os.environ["PROXMOX_VE_API_TOKEN"].split("=")
user, token_name = token.split("!")
api = ProxmoxAPI(HOST, user=user, token_name=token_name, token_value=secret, verify_ssl=CERTIFICATE)
ours = {}


@step("a login by password with ticket and CSRF token")
def _():
    session = ProxmoxAPI(HOST, user="root@pam", password="test1234", verify_ssl=CERTIFICATE)
    ticket, csrf = session.get_tokens()
    assert ticket and csrf
    pool = "stranger"
    session.pools.post(poolid=pool)
    session.pools(pool).delete()
    return session.version.get()["version"]


@step("a certificate that is not ours is refused")
def _():
    try:
        requests.get(f"https://{HOST}/api2/json/version", timeout=10)
    except requests.exceptions.SSLError:
        return
    raise AssertionError("it was accepted")


@step("version, nodes and storages by token")
def _():
    assert NODE in [node["node"] for node in api.nodes.get()]
    storages = [entry["storage"] for entry in api.nodes(NODE).storage.get(content="images")]
    assert "local" in storages, storages
    return ", ".join(sorted(storages))


@step("a free id is offered")
def _():
    ours["fresh"] = int(api.cluster.nextid.get())
    return ours["fresh"]


@step("create with a disk, a network and tags")
def _():
    return finished(
        api.nodes(NODE).qemu.post(
            vmid=ours["fresh"],
            name="stranger-fresh",
            memory=256,
            cores=1,
            kvm=0,
            scsihw="virtio-scsi-single",
            scsi0="local:1,format=qcow2",
            net0="virtio,bridge=vmbr0",
            tags="b;a",
            description="made by a stranger\nin two lines",
        )
    )


@step("the configuration reads back")
def _():
    config = api.nodes(NODE).qemu(ours["fresh"]).config.get()
    assert config["name"] == "stranger-fresh" and config["tags"] == "a;b", config
    assert config["scsi0"] == f"local:{ours['fresh']}/vm-{ours['fresh']}-disk-0.qcow2,size=1G", config["scsi0"]
    assert config["description"] == "made by a stranger\nin two lines", config["description"]
    assert config["net0"].startswith("virtio=BC:24:11:"), config["net0"]


@step("the same id is refused the second time")
def _():
    return refused(lambda: api.nodes(NODE).qemu.post(vmid=ours["fresh"]), 500)


@step("a wrong parameter is refused with its name")
def _():
    try:
        api.nodes(NODE).qemu(ours["fresh"]).config.put(memory="much")
    except ResourceException as error:
        assert error.status_code == 400 and "memory" in (error.errors or {}), (error.status_code, error.errors)
        return error.errors["memory"]
    raise AssertionError("it was accepted")


@step("full clone of the template")
def _():
    ours["clone"] = int(api.cluster.nextid.get())
    return finished(api.nodes(NODE).qemu(TEMPLATE).clone.post(newid=ours["clone"], name="stranger-clone", full=1))


@step("change the configuration, in place and as a task")
def _():
    vm = api.nodes(NODE).qemu(ours["clone"])
    vm.config.put(cores=2, memory=768, ciuser="stranger", ipconfig0="ip=dhcp", tags="stranger")
    finished(vm.config.post(description="changed"))
    config = vm.config.get()
    assert (config["cores"], config["memory"], config["description"]) == (2, "768", "changed"), config


@step("the same change again leaves the digest as it is")
def _():
    vm = api.nodes(NODE).qemu(ours["clone"])
    before = vm.config.get()["digest"]
    vm.config.put(cores=2, memory=768, tags="stranger", description="changed")
    assert vm.config.get()["digest"] == before, "the digest changed"


@step("a change with an old digest is refused")
def _():
    vm = api.nodes(NODE).qemu(ours["clone"])
    return refused(lambda: vm.config.put(cores=1, digest="0" * 40), 500)


@step("grow the disk")
def _():
    vm = api.nodes(NODE).qemu(ours["clone"])
    finished(vm.resize.put(disk="scsi0", size="3G"))
    assert vm.config.get()["scsi0"].endswith(",size=3G"), vm.config.get()["scsi0"]


@step("start")
def _():
    finished(api.nodes(NODE).qemu(ours["clone"]).status.start.post())
    assert api.nodes(NODE).qemu(ours["clone"]).status.current.get()["status"] == "running"


@step("the guest agent answers")
def _():
    until(lambda: api.nodes(NODE).qemu(ours["clone"]).agent.ping.post() is not None)


@step("the guest agent reports an address")
def _():
    def addresses():
        answer = api.nodes(NODE).qemu(ours["clone"]).agent("network-get-interfaces").get()
        return [
            address["ip-address"]
            for interface in answer["result"]
            if interface["name"] != "lo"
            for address in interface.get("ip-addresses", [])
            if address["ip-address-type"] == "ipv4"
        ]

    return ", ".join(until(addresses))


@step("a command in the guest")
def _():
    agent = api.nodes(NODE).qemu(ours["clone"]).agent
    pid = agent.exec.post(command=["hostname"])["pid"]
    done = until(lambda: (lambda status: status if status["exited"] else None)(agent("exec-status").get(pid=pid)))
    assert done["exitcode"] == 0, done
    return done["out-data"].strip()


@step("snapshot and its list")
def _():
    vm = api.nodes(NODE).qemu(ours["fresh"])
    finished(vm.snapshot.post(snapname="before"))
    assert {entry["name"] for entry in vm.snapshot.get()} == {"before", "current"}
    finished(vm.snapshot("before").delete())


@step("a running VM cannot be destroyed")
def _():
    return refused(lambda: api.nodes(NODE).qemu(ours["clone"]).delete(), 500)


@step("stop")
def _():
    finished(api.nodes(NODE).qemu(ours["clone"]).status.stop.post())
    assert api.nodes(NODE).qemu(ours["clone"]).status.current.get()["status"] == "stopped"


@step("destroy, and nothing is left")
def _():
    for vmid in (ours["clone"], ours["fresh"]):
        finished(api.nodes(NODE).qemu(vmid).delete(purge=1))
    left = {entry["vmid"] for entry in api.nodes(NODE).qemu.get()} & set(ours.values())
    assert not left, left
    for vmid in ours.values():
        assert api.nodes(NODE).storage("local").content.get(content="images", vmid=vmid) == []


sys.exit(failures)
