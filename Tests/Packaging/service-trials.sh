# What happens to a service in its life, beside upgrades: to be sourced by service-upgrade.sh, whose functions and
# variables it takes, with the package's service running in the system there. Each trial leaves that as it found it.

documentation=$(realpath "$tests/../..")
drop_ins=$system/etc/systemd/system/subproxy.service.d
good_rules='  http://steady.test/x: { text: steady }
  http://steady.test/large: large
  https://steady.test/x: { text: secure }'

# Until a command succeeds, ten seconds at the most.
awaits() {
    for _ in $(seq 100); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}
# In the place of the old map, so that nobody reads a half of it.
write_map() {
    printf 'root: /srv\nsubstitutions:\n%s\n' "$1" >"$system/srv/map.new"
    chmod 644 "$system/srv/map.new"
    mv "$system/srv/map.new" "$system/srv/map.yaml"
}
gets() { [ "$(ask -x http://127.0.0.1:8888 "$1")" = "$2" ]; }
status_has() { case $(show StatusText) in *"$1"*) ;; *) return 1 ;; esac; }
is_state() { [ "$(show ActiveState)" = "$1" ]; }
restarts() { [ "$(show NRestarts)" = "$1" ]; }
journal_has() { case $(journal) in *"$1"*) ;; *) return 1 ;; esac; }
journal() { beside journalctl -b --no-pager -o cat -u subproxy.service "$@"; }
# Standard input is the drop-in; none takes it away.
drop_in() {
    mkdir -p "$drop_ins"
    cat >"$drop_ins/override.conf"
    [ -s "$drop_ins/override.conf" ] || rm -r "$drop_ins"
    beside systemctl daemon-reload
}
restart() {
    # What is started here by hand is not to count for the limit.
    beside systemctl reset-failed subproxy.service
    beside systemctl restart subproxy.service || {
        journal | tail -n 20
        fail "the service does not start with $1"
    }
}
# The block of a page that begins with a fence of the language $2 and has the text $3.
documented() {
    awk -v RS='```' -v language="$2" -v text="$3" \
        'index($0, language "\n") == 1 && index($0, text) { print substr($0, length(language) + 2); exit }' \
        "$documentation/$1" | grep . || fail "$1 has no block with $3"
}

try_reload() {
    local before
    # The journal drops the lines of a service that writes one for each request of such clients, as they did just now.
    { documented docs/service.md ini LogsDirectory= && echo LogRateLimitIntervalSec=1s; } | drop_in
    restart "a log of its own"
    before=$(show MainPID)
    start_clients
    write_map "$good_rules"$'\n  http://new.test/: { text: new }'
    beside systemctl reload subproxy.service || fail "does not reload"
    awaits gets http://new.test/ new || fail "a rule that came with a reload is not served"
    write_map '  http://steady.test/x: { txt: other }'
    beside systemctl reload subproxy.service || fail "does not take the signal to reload"
    awaits status_has 'the last reload failed: ' || fail "the status hides a reload that failed: $(show StatusText)"
    is_state active || fail "a map with errors ends the service"
    gets http://new.test/ new || fail "a map with errors takes the old one's rules away"
    journal_has "map.yaml:3:27: error: unknown option 'txt'" || fail "the journal has no word of it"
    write_map "$good_rules"
    beside systemctl reload subproxy.service
    awaits eval '! status_has "reload failed"' || fail "the status stays: $(show StatusText)"
    stop_clients
    # Three clients keep theirs.
    echo "$report" | grep -q '"connections kept": 3,' || fail "a reload closes connections: $report"
    [ "$(show MainPID)" = "$before" ] || fail "a reload starts another process"
    grep -F ' http://new.test/ ' "$system/var/log/private/subproxy/access.log" >/dev/null ||
        fail "no line in the log that docs/service.md's drop-in has"
    drop_in </dev/null
    restart "its own log again"
    ok "a reload serves new rules, keeps the old ones where the map has errors, says so, and loses nothing: $report"
}

try_home() {
    local home=$system/home/u
    beside useradd --create-home --shell /bin/bash u
    mkdir -p "$home/site" "$home/other/bundle"
    echo 'in the home' >"$home/site/page.txt"
    echo 'in another folder' >"$home/other/bundle/page.txt"
    printf 'substitutions:\n  http://home.test/page: page.txt\n' >"$home/site/substitutions.yaml"
    printf 'root: /home/u/other/bundle\nsubstitutions:\n  http://other.test/page: page.txt\n' >"$system/srv/other.yaml"
    chmod -R a+rX "$home/site" "$home/other/bundle" "$system/srv/other.yaml"
    beside chown -R u:u /home/u
    chmod 700 "$home" "$home/other"
    cp -p "$system/etc/default/subproxy" "$folder/default"

    # Without it neither maps nor files there are seen.
    echo 'SUBPROXY_OPTIONS=--map /srv/map.yaml --map /srv/other.yaml' >>"$system/etc/default/subproxy"
    restart "a map that names files in a home"
    gets http://steady.test/x steady || fail "the service does not answer"
    ! ask -f -o /dev/null -x http://127.0.0.1:8888 http://other.test/page 2>/dev/null ||
        fail "a home is seen by the service"
    documented docs/service.md ini 'BindReadOnlyPaths=/home/u/site /home/u/other/bundle' | drop_in
    restart "folders in a home"
    gets http://other.test/page 'in another folder' ||
        fail "a folder in a home is not seen with docs/service.md's drop-in"

    documented docs/service.md ini '--map /home/u/site' >>"$system/etc/default/subproxy"
    drop_in </dev/null
    ! beside systemctl restart subproxy.service 2>/dev/null || fail "a map in a home is seen by the service"
    documented README.md ini 'BindReadOnlyPaths=/home/u/site' | drop_in
    restart "a map in a home, as README.md has it"
    gets http://home.test/page 'in the home' || fail "a map in a home is not served with README.md's drop-in"
    documented docs/service.md ini $'ExecStart=\nExecStart=/usr/bin/subproxy --map /home/u' | drop_in
    restart "a map in a home alone"
    gets http://home.test/page 'in the home' ||
        fail "a map in a home is not served alone with docs/service.md's drop-in"

    cp -p "$folder/default" "$system/etc/default/subproxy"
    drop_in </dev/null
    restart "its own map again"
    ok "the documented drop-ins show the service folders in a home of mode 0700, which it does not see without"
}

# A map of a database in folder $1, which the rule's seed makes.
serve_shop() {
    echo 'CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT);' >"$1/schema.sql"
    chmod 644 "$1/schema.sql"
    printf 'root: %s\nsubstitutions:\n  http://shop.test/: { sqlite: shop.db, writes: file, seed: schema.sql }\n' \
        "$2" >"$system/srv/shop.yaml"
    chmod 644 "$system/srv/shop.yaml"
    restart "a database in $2"
}
adds() {
    ask -o "$folder/added" -w '%{http_code}' -x http://127.0.0.1:8888 -H 'Content-Type: application/json' \
        -d "{\"name\":\"$1\"}" http://shop.test/products
}
try_databases() {
    local before='[{"id":1,"name":"Axe"}]' all='[{"id":1,"name":"Axe"},{"id":2,"name":"Saw"}]'
    cp -p "$system/etc/default/subproxy" "$folder/default"
    echo 'SUBPROXY_OPTIONS=--map /srv/map.yaml --map /srv/shop.yaml' >>"$system/etc/default/subproxy"

    # systemd makes the folder.
    printf 'substitutions: {}\n' >"$system/srv/shop.yaml"
    documented docs/service.md ini 'StateDirectory=subproxy subproxy/shop' | drop_in
    restart "a folder for databases"
    serve_shop "$system/var/lib/private/subproxy/shop" /var/lib/subproxy/shop
    [ "$(adds Axe)" = 201 ] || fail "no row with docs/service.md's folder of the service: $(cat "$folder/added")"
    restart "its database"
    gets http://shop.test/products "$before" || fail "a row is gone after a restart"

    # A folder that others write to.
    commands docs/service.md 'groupadd shop'
    printf '[Service]\nSupplementaryGroups=shop\nUMask=0007\n' | drop_in
    serve_shop "$system/srv/shop" /srv/shop
    [ "$(adds Axe)" != 201 ] || fail "the service writes where ReadWritePaths= does not let it"
    grep -q 'shop.db can.t be made: Read-only file system' "$folder/added" || fail "the answer has no reason: $(cat "$folder/added")"
    documented docs/service.md ini ReadWritePaths=/srv/shop | drop_in
    restart "a database of a group"
    [ "$(adds Axe)" = 201 ] || fail "no row with docs/service.md's folder of a group: $(cat "$folder/added")"
    [ "$(beside stat -c '%G %a' /srv/shop/shop.db)" = 'shop 660' ] ||
        fail "the database is $(beside stat -c '%U %G %a' /srv/shop/shop.db)"
    beside setpriv --reuid u --regid u --groups shop sqlite3 /srv/shop/shop.db \
        "INSERT INTO products (name) VALUES ('Saw')" || fail "another program of the group can't write"
    awaits gets http://shop.test/products "$all" || fail "what another program wrote does not show"

    cp -p "$folder/default" "$system/etc/default/subproxy"
    drop_in </dev/null
    restart "no database"
    rm -r "$system/srv/shop" "$system/srv/shop.yaml" "$system/var/lib/private/subproxy/shop"
    beside groupdel shop
    ok "the documented drop-ins let the service write databases, alone and beside other programs of a group"
}

try_addresses() {
    local drop_ins=$system/etc/systemd/system/subproxy.socket.d
    documented docs/service.md ini 'ListenStream=/run/subproxy.sock' | drop_in
    beside systemctl restart subproxy.socket || fail "other addresses are refused"
    for address in 127.0.0.1:3128 '[::1]:3128'; do
        [ "$(ask -x "http://$address" http://steady.test/x)" = steady ] || fail "no answer at $address"
    done
    [ "$(ask --unix-socket "/proc/$init/root/run/subproxy.sock" --request-target http://steady.test/x \
        http://steady.test/x)" = steady ] || fail "no answer at a path"
    ! ask -o /dev/null http://127.0.0.1:8888/healthz 2>/dev/null || fail "the unit's address is open still"
    drop_in </dev/null
    beside systemctl restart subproxy.socket || fail "the unit's own address is refused"
    gets http://steady.test/x steady || fail "no answer at the unit's own address"
    ok "the documented drop-in for other addresses, IPv6 and a path among them, opens these and no other"
}

# With documented commands for those who administrate the system.
commands() {
    local lines
    lines=$(documented "$1" console "$2" | sed -n 's/^\$ sudo //p')
    beside bash -ec "$lines" 2>>"$folder/upgrade.log" || fail "$1's commands fail: $lines"
}

try_tls() {
    local unit=$system/etc/systemd/system/subproxy-https.socket
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=proxy.test -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$system/srv/key.pem" -out "$system/srv/chain.pem" 2>>"$folder/upgrade.log"
    chmod 644 "$system/srv/key.pem"
    cp -p "$system/etc/default/subproxy" "$folder/default"
    echo 'SUBPROXY_OPTIONS=--map /srv/map.yaml --tls-cert /srv/chain.pem --tls-key /srv/key.pem' \
        >>"$system/etc/default/subproxy"
    documented docs/service.md ini 'FileDescriptorName=https' >"$unit"
    beside systemctl daemon-reload
    ! beside systemctl start subproxy-https.socket 2>/dev/null || fail "a socket is opened beside a service that runs"
    commands docs/service.md 'enable --now subproxy-https.socket'
    [ "$(ask --proxy-cacert "$system/srv/chain.pem" -x https://127.0.0.1:8443 http://steady.test/x)" = steady ] ||
        fail "no answer to a client that speaks TLS"
    gets http://steady.test/x steady || fail "no answer beside TLS"
    beside systemctl disable --now subproxy-https.socket 2>>"$folder/upgrade.log"
    rm "$unit"
    cp -p "$folder/default" "$system/etc/default/subproxy"
    beside systemctl daemon-reload
    restart "no TLS"
    ok "the documented unit for clients that speak TLS serves them"
}

try_watchdog() {
    printf '[Service]\nWatchdogSec=3s\n' | drop_in
    restart "another WatchdogSec="
    kill -STOP "$(serving)"
    # It waits in the socket for the next process.
    [ "$(ask --max-time 90 -x http://127.0.0.1:8888 http://steady.test/x)" = steady ] ||
        fail "no answer after the watchdog's time"
    awaits restarts 1 || fail "the manager has not restarted it, but $(show NRestarts) times"
    journal_has 'Watchdog timeout' || fail "it was not the watchdog that ended it"
    drop_in </dev/null
    restart "the unit's WatchdogSec="
    ok "a process that stands still is ended by the watchdog, and what came meanwhile answered by the next one"
}

try_kill() {
    local asked=() number killed
    killed=$(show MainPID)
    kill -KILL "$(serving)"
    for number in 1 2 3 4 5; do
        ask -o "$folder/answer.$number" -w '%{time_total}\n' --cacert "$folder/authority.pem" \
            -x http://127.0.0.1:8888 https://steady.test/x >"$folder/time.$number" &
        asked+=($!)
    done
    wait "${asked[@]}" || fail "a request that came after the kill failed"
    for number in 1 2 3 4 5; do
        [ "$(cat "$folder/answer.$number")" = secure ] || fail "a request that came after the kill has another answer"
    done
    awaits restarts 1 || fail "the manager has not restarted it, but $(show NRestarts) times"
    [ "$(show MainPID)" != "$killed" ] || fail "it is the same process"
    ! journal "_PID=$(show MainPID)" | grep -iE 'error|warning' || fail "the start after a kill is not a clean one"
    # Of all processes till now.
    ! journal_has 'Failed to set thread priority' || fail "the journal has what libdispatch complains of"
    ok "a process that is killed is followed by another, with the same authority, that answers what came meanwhile:" \
        "$(sort -n "$folder"/time.? | tail -n 1) s at the most"
}

attempts() { journal | grep -c 'status=65' || true; }
# Every client that comes makes systemd try again, since the socket is open; so there has to be an end.
try_broken_map() {
    local tried
    # Another error than the one before, which the journal has already.
    write_map '  http://steady.test/x: { txtx: other }'
    beside systemctl reset-failed subproxy.service
    ! beside systemctl restart subproxy.service 2>/dev/null || fail "it starts with a map that has errors"
    # With another attempt to come it would be activating.
    is_state failed || fail "it is $(show ActiveState) with a map that has errors"
    journal_has "map.yaml:3:27: error: unknown option 'txtx'" || fail "the journal has no word of it"
    [ "$(show ExecMainStatus) $(show NRestarts)" = "65 0" ] || fail "it ends with $(show ExecMainStatus)"
    tried=$(attempts)
    ! ask -o /dev/null -x http://127.0.0.1:8888 http://steady.test/x 2>/dev/null || fail "something answers"
    awaits eval '[ "$(beside systemctl show -P Result subproxy.socket)" = service-start-limit-hit ]' ||
        fail "the socket is $(beside systemctl is-active subproxy.socket) still"
    tried=$(($(attempts) - tried))
    [ "$tried" -le 10 ] || fail "it is started $tried times, for one client"
    write_map "$good_rules"
    commands docs/service.md reset-failed
    gets http://steady.test/x steady || fail "the service does not answer when the map is mended"
    ok "with a map that has errors it does not start, is given up after $tried attempts for a client, and comes back"
}

as_user() {
    beside setpriv --reuid u --regid u --init-groups env HOME=/home/u "XDG_RUNTIME_DIR=/run/user/$(beside id -u u)" "$@"
}
# The units of the session, by a manager that runs without one (it lingers), for the user of try_home.
try_user() {
    local home=$system/home/u
    # It takes the same port.
    beside systemctl disable --now subproxy.socket subproxy.service 2>>"$folder/upgrade.log"
    mkdir -p "$home/private" "$home/.config/subproxy"
    echo 'of the user' >"$home/private/page.txt"
    printf 'root: /home/u/private\nsubstitutions:\n  //user.test/page: page.txt\n' \
        >"$home/.config/subproxy/substitutions.yaml"
    beside chown -R u:u /home/u
    chmod -R go-rwx "$home"
    beside loginctl enable-linger u || fail "no manager for a user"
    awaits as_user systemctl --user show-environment >/dev/null 2>&1 || {
        beside systemctl status --no-pager systemd-logind.service 'user@*' 'user-runtime-dir@*'
        fail "the user's manager does not start"
    }
    as_user systemctl --user enable --now subproxy.socket subproxy.service 2>>"$folder/upgrade.log" || {
        beside journalctl -b --no-pager | tail -n 30
        fail "the user's service does not start"
    }
    gets http://user.test/page 'of the user' || fail "the user's service does not answer"
    ask -k -o /dev/null -x http://127.0.0.1:8888 https://user.test/page
    [ -e "$home/.local/share/subproxy/ca.pem" ] || fail "the user's authority is elsewhere"
    sed -i 's/page.txt/other.txt/' "$home/.config/subproxy/substitutions.yaml"
    echo 'of the user, too' >"$home/private/other.txt"
    beside chown -R u:u /home/u
    as_user systemctl --user reload subproxy.service || fail "the user's service does not reload"
    awaits gets http://user.test/page 'of the user, too' || fail "the user's reload brings nothing"
    as_user systemctl --user restart subproxy.service || fail "the user's service does not restart"
    gets http://user.test/page 'of the user, too' || fail "the user's service does not answer after a restart"
    ok "a user's manager runs the user's service, with map, files and authority of a closed home"
    as_user systemctl --user disable --now subproxy.socket subproxy.service 2>>"$folder/upgrade.log"
    beside loginctl disable-linger u
    beside systemctl enable --now subproxy.socket subproxy.service 2>>"$folder/upgrade.log"
}
