#!/usr/bin/env bash
# Upgrades the package under a systemd that runs its service, while clients go on asking: none is to notice. Then the
# trials of service-trials.sh. The systemd is the first process of namespaces of its own, in a bare Debian (debootstrap)
# that shares nothing with this one. Needs root, a package mirror, cgroup2, and some minutes the first time.
#
# usage: service-upgrade.sh PACKAGE.deb FOLDER        'make deb-service' does that
set -Eeuo pipefail

package=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
tests=$(realpath "$(dirname "$0")")
. "$tests/bare-system.sh"
namespaces= init= clients= group=

leave() {
    [ -z "$clients" ] || kill "$clients" 2>/dev/null || true
    # The namespace of processes ends with its first one.
    [ -z "$init" ] || kill -KILL "$init" 2>/dev/null || true
    [ -z "$namespaces" ] || wait "$namespaces" 2>/dev/null || true
    for _ in $(seq 50); do
        [ -d "${group:-/nonexistent}" ] || break
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
    remove_system
}
trap 'echo "FAILED: line $LINENO" >&2' ERR

[ "$(id -u)" = 0 ] || fail "a system of its own takes root"
groups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
[ -n "$groups" ] && [ -w "$groups/cgroup.procs" ] || fail "systemd takes a cgroup2 hierarchy that can be written"
version=$(dpkg-deb -f "$package" Version)

trap leave EXIT
make_system
older=$folder/older
make_older "$older" "$package"
# Not in /tmp, which systemd may empty.
cp "$older.deb" "$system/srv/older.deb"
cp "$package" "$system/srv/package.deb"
inside apt-get update -qq
# dbus and libpam-systemd for managers of users, sqlite3 for one who writes to the service's database.
inside apt-get install -y -qq --no-install-recommends systemd /srv/older.deb dbus libpam-systemd sqlite3 \
    >"$folder/upgrade.log" 2>&1 ||
    { cat "$folder/upgrade.log"; fail "the older package does not install"; }
enabled=$(find "$system/etc/systemd" -path '*.wants/subproxy.*')
[ -z "$enabled" ] || fail "the installation enables $enabled"

# What the service is to serve, by its own map and another one.
head -c 8388608 /dev/zero >"$system/srv/large"
cat >"$system/srv/map.yaml" <<'MAP'
root: /srv
substitutions:
  http://steady.test/x: { text: steady }
  http://steady.test/large: large
  https://steady.test/x: { text: secure }
MAP
chmod 644 "$system/srv/large" "$system/srv/map.yaml"
echo 'SUBPROXY_OPTIONS=--map /srv/map.yaml' >>"$system/etc/default/subproxy"

# systemd, as a container has it.
umount "$system/proc"
group=$groups/subproxy-upgrade-$$
mkdir "$group"
cat >"$folder/boot.sh" <<'BOOT'
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"; done
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
ip link set lo up
mkdir -p run/old
pivot_root . run/old
umount -l run/old
exec env -i container=subproxy-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --show-status=false
BOOT
# Into the group first, so that the namespace of groups begins there.
bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' bash "$group" \
    unshare --mount --propagation private --pid --fork --kill-child --net --uts --ipc --cgroup \
    bash "$folder/boot.sh" "$system" >"$folder/boot.log" 2>&1 </dev/null &
namespaces=$!
for _ in $(seq 100); do
    init=$(cat "/proc/$namespaces/task/$namespaces/children" 2>/dev/null || true)
    init=${init%% *}
    [ -z "$init" ] || [ "$(cat "/proc/$init/comm" 2>/dev/null)" != systemd ] || break
    kill -0 "$namespaces" 2>/dev/null || { cat "$folder/boot.log"; fail "systemd does not start"; }
    sleep 0.1
done

# Beside systemd, as an administrator is.
beside() {
    timeout 120 nsenter --target "$init" --mount --pid --net --uts --ipc --cgroup --root --wd \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}
show() { beside systemctl show -P "$1" subproxy.service; }
# The process that serves, as this system counts.
serving() {
    local inner
    inner=$(show MainPID)
    for status in $(grep -l '^Name:[[:space:]]*subproxy$' /proc/[0-9]*/status 2>/dev/null || true); do
        if [ "$(readlink "${status%status}ns/pid")" = "$(readlink "/proc/$init/ns/pid")" ] &&
            [ "$(awk '/^NSpid:/ { print $NF }' "$status")" = "$inner" ]; then
            status=${status#/proc/}
            echo "${status%/status}"
        fi
    done
}
ask() { nsenter --target "$init" --net curl -sS --max-time 20 --noproxy '' "$@"; }

start_clients() {
    nsenter --target "$init" --net python3 -B "$tests/steady-clients.py" 8888 >"$folder/clients.log" 2>&1 &
    clients=$!
    for _ in $(seq 200); do
        ! grep -q asking "$folder/clients.log" || return 0
        sleep 0.1
    done
    fail "no client is answered"
}
# Leaves in $report what they say.
stop_clients() {
    kill -TERM "$clients"
    wait "$clients" || fail "the clients end with $?"
    clients=
    report=$(tail -n 1 "$folder/clients.log")
    echo "$report" | grep -q '"failed": 0' || fail "requests failed: $report"
}

for _ in $(seq 100); do
    ! beside systemctl is-system-running >/dev/null 2>&1 || break
    sleep 0.1
done
beside systemctl enable --now subproxy.socket subproxy.service >>"$folder/upgrade.log" 2>&1 ||
    { beside journalctl -b --no-pager | tail -n 30; fail "the service does not start"; }
[ "$(show Description)" = "The older one" ] || fail "it is not the older unit that runs"
before=$(serving)
cmp -s "/proc/$before/exe" "$older/usr/bin/subproxy" || fail "it is not the older program that runs"
[ "$(ask -k -x http://127.0.0.1:8888 https://steady.test/x)" = secure ] || fail "the service does not decrypt"
ask -o "$folder/authority.pem" http://127.0.0.1:8888/ca.pem
ok "$(beside systemctl --version | head -n 1) runs the older package's service: $(show StatusText)"

start_clients
seen=$before
for round in 1 2 3; do
    beside dpkg --force-confold -i /srv/package.deb >>"$folder/upgrade.log" 2>&1 || fail "does not upgrade"
    [ "$(show ActiveState)" = active ] || { beside systemctl status subproxy --no-pager; fail "the service has stopped"; }
    now=$(serving)
    [ -n "$now" ] && [ "$now" != "$seen" ] || fail "the upgrade does not restart the service"
    seen=$now
    cmp -s "/proc/$now/exe" "$system/usr/bin/subproxy" && cmp -s "/proc/$now/exe" "/proc/$now/root/usr/bin/subproxy" ||
        fail "it is not the new program that runs"
    # What comes now is answered by the new one.
    [ "$(ask -x http://127.0.0.1:8888 http://steady.test/x)" = steady ] || fail "the new program does not answer"
done
[ "$(show Description)" != "The older one" ] || fail "the unit in force is the older one"
stop_clients
ok "an upgrade from 0.0.1 to $version, and two over itself, restart the service, and no request fails: $report"

[ "$(ask --cacert "$folder/authority.pem" -x http://127.0.0.1:8888 https://steady.test/x)" = secure ] ||
    fail "the authority is another one after the upgrade"
[ "$(beside systemctl is-enabled subproxy.service)" = enabled ] || fail "the upgrade disables the service"
[ "$(show NRestarts)" = 0 ] || fail "the service has crashed"
ok "the authority, the options and what was enabled are as before"

. "$tests/service-trials.sh"
try_reload
try_home
try_databases
try_addresses
try_tls
try_watchdog
try_kill
try_broken_map
try_user

beside dpkg --remove subproxy >>"$folder/upgrade.log" 2>&1 || fail "does not remove"
[ -z "$(serving)" ] || fail "the service runs on when the package is removed"
! ask -o /dev/null -x http://127.0.0.1:8888 http://steady.test/x 2>/dev/null || fail "the socket is open still"
ok "removing the package stops service and socket"
