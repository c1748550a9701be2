// Another host than the page's: the proxy adds the fields that a cross-origin request needs.
fetch("http://api.example.test/session")
    .then((response) => response.json())
    .then((session) => {
        document.getElementById("session").textContent = `The script has run for ${session.user}.`;
    });
