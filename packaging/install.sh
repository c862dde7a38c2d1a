#!/bin/sh
# Installs Nacre @VERSION@ for this user:
#   curl -fsSL @URL@/install.sh | sh
#
# It downloads the archive for this machine, verifies it, and copies the program, its manual page and completions under ~/.local.
#   sh install.sh --prefix DIR     installs under another folder
#   sh install.sh --uninstall      removes what it installed; your memory stays
#
# The release signs its list of checksums with an SSH key, and `ssh-keygen` verifies it with the public key below. On a machine without
# OpenSSH, NACRE_UNSIGNED=1 skips the signature. Checksums are always verified.
set -eu

version='@VERSION@'
url=${NACRE_RELEASE_URL:-'@URL@'}
signer='@SIGNER@'
namespace='@NAMESPACE@'

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

download() {
    if has curl; then
        curl -fsSL "$url/$1" -o "$work/$1"
    elif has wget; then
        wget -q "$url/$1" -O "$work/$1"
    else
        fail "neither curl nor wget is installed" "install one of them"
    fi || fail "$url/$1 can't be downloaded"
}

checksum() {
    if has sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

verify_signature() {
    if [ "${NACRE_UNSIGNED:-}" = 1 ]; then
        echo "note: the signature is not verified, because NACRE_UNSIGNED is set" >&2
        return
    fi
    has ssh-keygen || fail "the signature can't be verified without ssh-keygen" \
        "install OpenSSH, or set NACRE_UNSIGNED=1 to rely on the checksum alone"
    download SHA256SUMS.sig
    printf 'nacre %s\n' "$signer" >"$work/signers"
    ssh-keygen -Y verify -f "$work/signers" -I nacre -n "$namespace" -s "$work/SHA256SUMS.sig" \
        <"$work/SHA256SUMS" >/dev/null 2>&1 || fail "the signature of SHA256SUMS is wrong; nothing was installed"
}

# Prints the archives for this machine, the best first. A static program runs with any C library.
archives() {
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no release for the processor $(uname -m)" "build Nacre from source" ;;
    esac
    case $(uname -s) in
    Linux) echo "nacre-$version-$processor-unknown-linux-musl nacre-$version-$processor-unknown-linux-gnu" ;;
    Darwin) echo "nacre-$version-$processor-apple-darwin" ;;
    *) fail "this script installs on Linux and macOS, and this is $(uname -s)" ;;
    esac
}

# Creates a folder under the prefix, and notes each one that was not there.
folder() {
    [ -d "$prefix/$1" ] || {
        case $1 in */*) folder "${1%/*}" ;; esac
        mkdir "$prefix/$1"
        echo "$1" >>"$work/installed"
    }
}

# Copies a file to its place in one step, so that a program that is running is not disturbed.
place() {
    folder "${2%/*}"
    cp "$1" "$prefix/$2.new"
    chmod "$3" "$prefix/$2.new"
    mv -f "$prefix/$2.new" "$prefix/$2"
    echo "$2" >>"$work/installed"
}

install() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    download SHA256SUMS
    verify_signature
    names=$(archives)
    for name in $names; do
        expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
        [ -z "$expected" ] || break
    done
    [ -n "$expected" ] || fail "release $version has no archive for this machine" "build Nacre from source"
    download "$name.tar.gz"
    [ "$(checksum "$work/$name.tar.gz")" = "$expected" ] || fail "the checksum of $name.tar.gz is wrong; nothing was installed"
    tar -xzf "$work/$name.tar.gz" -C "$work"
    "$work/$name/nacre" --version >/dev/null || fail "the program of $name does not run on this machine" "build Nacre from source"

    # A version that is there is replaced; what it noted stays noted.
    [ ! -f "$prefix/$list" ] || cp "$prefix/$list" "$work/installed"
    [ -d "$prefix" ] || {
        mkdir -p "$prefix"
        echo . >>"$work/installed"
    }
    place "$work/$name/nacre" bin/nacre 755
    place "$work/$name/man/nacre.1" share/man/man1/nacre.1 644
    place "$work/$name/completions/nacre.bash" share/bash-completion/completions/nacre 644
    place "$work/$name/completions/nacre.zsh" share/zsh/site-functions/_nacre 644
    place "$work/$name/completions/nacre.fish" share/fish/vendor_completions.d/nacre.fish 644
    folder "${list%/*}"
    awk '!seen[$0]++' "$work/installed" >"$prefix/$list"

    echo "Nacre $version is installed as $prefix/bin/nacre."
    case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "Add $prefix/bin to your PATH to call it as \`nacre\`." ;;
    esac
    echo "Next: \`nacre install\` connects your agents."
}

uninstall() {
    [ -f "$prefix/$list" ] || fail "nothing is installed under $prefix" "give the folder with --prefix"
    installed=$(cat "$prefix/$list")
    rm -f "$prefix/$list"
    # Folders come before their files in the list, so it is worked off from its end. Folders with other files stay.
    printf '%s\n' "$installed" | awk '{ line[NR] = $0 } END { for (n = NR; n > 0; n--) print line[n] }' | while read -r each; do
        each=$prefix/${each#.}
        if [ -d "$each" ]; then rmdir "$each" 2>/dev/null || :; else rm -f "$each"; fi
    done
    echo "Nacre is removed from $prefix. Your memory stays."
}

main() {
    prefix=${HOME:?}/.local
    action=install
    list=share/doc/nacre/installed
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix)
            [ $# -gt 1 ] || fail "--prefix needs a folder"
            prefix=$2
            shift
            ;;
        --uninstall) action=uninstall ;;
        *) fail "unknown option $1" "the options are --prefix DIR and --uninstall" ;;
        esac
        shift
    done
    $action
}

# Called last, so that nothing runs before the whole script has arrived.
main "$@"
