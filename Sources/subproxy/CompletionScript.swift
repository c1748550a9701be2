import ArgumentParser

/// The completion scripts of shells, with what their maker knows nothing of: the names of commands behind `help`, and
/// behind `--` of `run`, `replay` and `record` another command with its own completions, as behind sudo(8).
enum CompletionScript {
    /// The script with that; one for another shell stays as it is.
    static func completed(_ script: String) -> String {
        if script.hasPrefix("#!/bin/bash") { return script + bash }
        if script.hasPrefix("#compdef") {
            // The last lines call the function, or name it.
            let call = "\nif [[ \"${funcstack[1]}\" = _subproxy ]]"
            return script.replacing("\n_subproxy() {\n", with: "\n_subproxy_alone() {\n")
                .replacing(call, with: zsh + call)
        }
        // What is offered elsewhere is not offered behind `--`.
        let lines = script.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("function __subproxy_should_offer_completions_for")
                ? line + "\n    __subproxy_command >/dev/null; and return 1" : line
        }
        return lines.joined(separator: "\n") + fish
    }

    /// The commands that have commands, as arms of `case`: what a line begins with, and what may follow.
    private static func arms(_ arm: (_ line: String, _ names: String) -> String) -> String {
        func names(of command: any ParsableCommand.Type) -> [String] {
            command.configuration.subcommands.map { $0._commandName }
        }
        let groups = RootCommand.configuration.subcommands.filter { !$0.configuration.subcommands.isEmpty }
        let inner = groups.map { arm("help \($0._commandName)", names(of: $0).joined(separator: " ")) }
        return arm("help", names(of: RootCommand.self).joined(separator: " ")) + inner.joined()
    }

    private static var bash: String {
        """


        _subproxy_or_command() {
            local -i index
            case "${COMP_WORDS[1]}" in
            run | replay | record)
                for ((index = 2; index < COMP_CWORD; index++)); do
                    [[ "${COMP_WORDS[index]}" = -- ]] || continue
                    if declare -F _comp_command_offset >/dev/null; then
                        _comp_command_offset "$((index + 1))"
                    elif declare -F _command_offset >/dev/null; then
                        _command_offset "$((index + 1))"
                    elif ((index + 1 == COMP_CWORD)); then
                        mapfile -t COMPREPLY < <(compgen -c -- "${2}"; compgen -d -- "${2}")
                    else
                        mapfile -t COMPREPLY < <(compgen -f -- "${2}")
                    fi
                    return
                done
                ;;
            esac
            case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in
        \(arms { line, names in
            """
                "\(line)")
                    COMPREPLY=($(compgen -W "\(names)" -- "${2}"))
                    return
                    ;;

            """
        })    esac
            _subproxy "${@}"
        }

        complete -o filenames -F _subproxy_or_command subproxy
        """
    }

    private static var zsh: String {
        """

        _subproxy() {
            local -i index
            case "${words[2]}" in
            (run|replay|record)
                index="${words[(ie)--]}"
                if (( index > 2 && index < CURRENT )); then
                    shift "${index}" words
                    (( CURRENT -= index ))
                    _normal
                    return
                fi
                ;;
            esac
            case "${(j: :)words[2,CURRENT-1]}" in
        \(arms { line, names in
            """
                ("\(line)")
                    compadd -- \(names)
                    return
                    ;;

            """
        })    esac
            _subproxy_alone "${@}"
        }

        """
    }

    private static var fish: String {
        """


        function __subproxy_command
            set -l tokens (commandline -opc)
            contains -- "$tokens[2]" run replay record; and contains -- -- $tokens; or return 1
            string replace -r '^(?s:.*?)\\s--\\s+' '' -- (commandline -pc | string collect)
        end

        complete -c 'subproxy' -n '__subproxy_command >/dev/null' -fka '(complete --do-complete=(__subproxy_command | string collect))'
        \(arms { line, names in
            "complete -c 'subproxy' -n 'test (commandline -opc | string join \" \") = \"subproxy \(line)\"' -fa '\(names)'\n"
        })
        """
    }
}
