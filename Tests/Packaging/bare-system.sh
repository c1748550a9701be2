# What the tests of the package share: a bare Debian of its own (debootstrap), below a folder, where it is kept as an
# archive for the next time. To be sourced by bash, with $folder set; sets $system, which is not made yet.

suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
system=$folder/$suite

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
ok() { echo "ok: $*"; }

# In the system, with nothing of this one's environment, and an end.
inside() {
    timeout 300 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} chroot "$system" "$@" </dev/null
}

remove_system() {
    ! mountpoint -q "$system/proc" || umount "$system/proc"
    rm -rf --one-file-system "$system"
}

# Takes a package mirror and some minutes the first time.
make_system() {
    remove_system
    if [ ! -e "$folder/$suite.tar" ]; then
        timeout 900 debootstrap --variant=minbase "$suite" "$system" ${MIRROR:+"$MIRROR"} >"$folder/debootstrap.log"
        tar -cf "$folder/$suite.tar.new" -C "$system" .
        mv "$folder/$suite.tar.new" "$folder/$suite.tar"
    else
        mkdir "$system"
        tar -xf "$folder/$suite.tar" -C "$system"
    fi
    cp /etc/resolv.conf "$system/etc/resolv.conf"
    mount -t proc proc "$system/proc"
}

# An older package $1.deb, made up of package $2: another version, another default map, another unit.
make_older() {
    rm -rf "$1" "$1.deb"
    dpkg-deb -R "$2" "$1"
    sed -i 's/^Version: .*/Version: 0.0.1/' "$1/DEBIAN/control"
    sed -i '1i # A map of the older package.' "$1/etc/subproxy/substitutions.yaml"
    unit=$(find "$1" -path '*/systemd/system/subproxy.service')
    sed -i 's/^Description=.*/Description=The older one/' "$unit"
    # So that the program that runs can be told from the other one.
    printf 'older' >>"$1/usr/bin/subproxy"
    dpkg-deb --root-owner-group -Zgzip -b "$1" "$1.deb" >/dev/null
}
