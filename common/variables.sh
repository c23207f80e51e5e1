# Sourced by scripts of examples that take environment variables of their own.
#   show_help "$@"       prints the comment that the script begins with where -h or --help is asked for, and ends it
#   need NAME MEANING    ends the script in one line where the variable is not set
show_help() {
    case "${1:-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
}

need() {
    [ -n "${!1:-}" ] || { echo "error: $1 is not set: $2; bash $0 --help says more" >&2; exit 2; }
}
