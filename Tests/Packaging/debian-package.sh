#!/usr/bin/env bash
# Installs, uses, upgrades, removes and purges the Debian package in a system of its own (debootstrap), which shares
# nothing with this one but the network and /proc. Needs root, a package mirror, and some minutes the first time; the
# bare system is kept for the next time.
#
# usage: debian-package.sh PACKAGE.deb FOLDER        'make deb-test' does that
set -Eeuo pipefail

package=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
project=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/bare-system.sh"
proxy=

leave() {
    [ -z "$proxy" ] || kill "$proxy" 2>/dev/null || true
    remove_system
}
trap 'echo "FAILED: line $LINENO" >&2' ERR

[ "$(id -u)" = 0 ] || fail "a system of its own takes root"
version=$(dpkg-deb -f "$package" Version)

# What is wrong with the package as it stands.
lintian --allow-root --fail-on error "$package"
ok "lintian has no error"

trap leave EXIT
make_system
older=$folder/older
make_older "$older" "$package"
cp "$older.deb" "$system/tmp/older.deb"
cp "$package" "$system/tmp/package.deb"

map=$system/etc/subproxy/substitutions.yaml
shipped=$system/usr/share/subproxy/substitutions.yaml
enabled=$system/etc/systemd/system/multi-user.target.wants/subproxy.service

inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends /tmp/older.deb >"$folder/install.log" 2>&1 ||
    { cat "$folder/install.log"; fail "the older package does not install"; }
[ ! -e "$enabled" ] || fail "the installation enables the service"
ok "installs, with $(inside dpkg-query -W -f='${Depends}' subproxy)"

# An upgrade over a map that nobody has touched brings the new map.
inside dpkg -i /tmp/package.deb >>"$folder/install.log" 2>&1 || fail "does not upgrade"
cmp "$map" "$shipped" || fail "the upgrade does not bring the new map"
ok "upgrades from 0.0.1 to $version"

# An upgrade over an edited one keeps that, and a service that was enabled stays so.
inside dpkg --purge subproxy >>"$folder/install.log" 2>&1
inside dpkg -i /tmp/older.deb >>"$folder/install.log" 2>&1
echo '# edited here' >>"$map"
cp "$map" "$folder/edited.yaml"
# As systemctl does it, which is not in a bare system.
mkdir -p "$(dirname "$enabled")"
ln -s "${unit#"$older"}" "$enabled"
inside dpkg --force-confdef --force-confold -i /tmp/package.deb >>"$folder/install.log" 2>&1 || fail "does not upgrade"
cmp "$map" "$folder/edited.yaml" || fail "the upgrade loses an edited map"
cmp "$map.dpkg-dist" "$shipped" || fail "the upgrade does not put the new map beside the edited one"
[ -L "$enabled" ] || fail "the upgrade disables the service"
inside dpkg -i /tmp/package.deb >>"$folder/install.log" 2>&1 || fail "does not install over itself"
cmp "$map" "$folder/edited.yaml" || fail "a second installation loses an edited map"
ok "an upgrade keeps an edited map, and the service enabled"

# The program runs there.
[ "$(inside subproxy --version)" = "subproxy $version" ] || fail "the program is not of version $version"
! inside ldd /usr/bin/subproxy | grep -F 'not found' || fail "a library is missing"
inside subproxy check --strict /etc/subproxy/substitutions.yaml || fail "the map has errors"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root timeout 120 chroot "$system" subproxy \
    --map /etc/subproxy/substitutions.yaml --listen 127.0.0.1:0 >"$folder/access.log" 2>"$folder/messages.log" &
proxy=$!
for _ in $(seq 100); do
    ! grep -q 'listening on' "$folder/messages.log" || break
    kill -0 "$proxy" 2>/dev/null || { cat "$folder/messages.log"; fail "the program does not start"; }
    sleep 0.1
done
url=$(sed -n 's|.*listening on \(http://[0-9.:]*\).*|\1|p' "$folder/messages.log")
curl -sS --max-time 10 -x "$url" -D "$folder/head" -o "$folder/body" \
    http://images.apple.com/global/nav/images/globalnavbg.png
cmp "$folder/body" "$project/config/bundle/fakeGlobalNavBG.png" || fail "the response is not the bundled image"
grep -qi '^cache-status: subproxy; hit' "$folder/head" || { cat "$folder/head"; fail "no hit in Cache-Status"; }
grep -F ' substituted ' "$folder/access.log" || fail "no line in the access log"
# timeout passes the signal on, and exits with the program's status.
kill -TERM "$proxy"
status=0
wait "$proxy" || status=$?
proxy=
[ "$status" = 0 ] || fail "the program exits with $status"
ok "$url answered a mapped URL with the bundled image, and stopped with status 0"

# Removing keeps the configuration and the state, purging does not.
mkdir -p "$system/var/lib/private/subproxy"
touch "$system/var/lib/private/subproxy/ca-key.pem"
ln -s private/subproxy "$system/var/lib/subproxy"
inside dpkg --remove subproxy >>"$folder/install.log" 2>&1 || fail "does not remove"
[ ! -e "$system/usr/bin/subproxy" ] || fail "the program is left when the package is removed"
[ -e "$map" ] && [ -e "$system/var/lib/private/subproxy/ca-key.pem" ] || fail "removing takes configuration or state"
inside dpkg --purge subproxy >>"$folder/install.log" 2>&1 || fail "does not purge"
left=$(find "$system" -xdev -name '*subproxy*' ! -path "$system/tmp/*" ! -path "$system/var/log/*")
[ -z "$left" ] || fail "left behind: $left"
! inside dpkg-query -W subproxy 2>/dev/null || fail "dpkg still knows the package"
ok "removes and purges, and leaves nothing behind"
