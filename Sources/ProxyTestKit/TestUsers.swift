/// Lines of a file of passwords, made by `htpasswd -nbB -C 5`.
public enum TestUsers {
    /// `ann`, whose password is `secret`.
    public static let ann = "ann:$2y$05$2QpbZSkb3y9r6mIJ4P9JLeAnN4xOZEz5TUle2g0OdWsSXYkXRDtAu"
    /// `bob`, whose password is `other`.
    public static let bob = "bob:$2y$05$YUW.XpjF74YFLhZr.goVvOcpRUz0MlL3Fk6moKy46r1//FkP6cfBa"
    /// `zoe`, whose password is empty.
    public static let zoe = "zoe:$2y$05$zsy7cBbflI6lxMKwtXm/QOPRyX4HvXLSOB36ArTS7WQ9SNwJwbAr."
}
