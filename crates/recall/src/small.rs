//! Words that say nothing of what is looked for, by language. They count in phrases, and in a query that has no others.

use crate::language::Language;

const ENGLISH: &str = " a about above after again against all also am an and any are as at be because been before being below between both \
    but by can could did do does doing don down during each either ever few for from further got had has have having he her here hers \
    herself him himself his how however i if in into is it its itself just may me might more most must my myself no nor not now of off on \
    once one only or other our ours ourselves out over own please same shall she should so some such tell than that the their theirs them \
    themselves then there these they this those through to too two under until up upon us very was we were what when where which while \
    who whom whose why will with would you your yours yourself d ll m re s t ve ";
const GERMAN: &str = " aber als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den denn der des die dies diese dieser \
    dieses doch dort du durch ein eine einem einen einer eines er es euch euer für gab gibt habe haben hat hatte hatten ich ihm ihn ihr ihre \
    im in ins ist ja jede jeder kann kein keine können man mein meine meinem meinen meiner mich mir mit nach nicht noch nur ob oder ohne \
    schon sein seine sich sie sind so über um und uns unser unsere vom von vor wann war waren warum was weil welche welcher welches wem wen \
    wenn wer werde werden wie wieder wir wird wo woher wohin wollte wurde wurden zu zum zur ";
const FRENCH: &str = " à ai as au aussi aux avait avec avez avoir avons c ce cela ces cet cette comme comment d dans de des dont du elle elles en \
    es est et étaient était été être eu il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par \
    pas plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tu un une \
    vos votre vous y ";
const SPANISH: &str = " a al algo como cómo con cual cuál cuales cuáles cuando cuándo cuanto cuánto de del desde donde dónde el él ella ellos en era \
    eran eres es esa ese eso esta está están este esto estos fue fueron ha había han has hay he la las le les lo los más me mi mis muy ni no \
    nos nosotros o para pero por porque qué que quien quién se ser si sí sin sobre son soy su sus también te tu tú tus un una uno unos y ya \
    yo ";
const ITALIAN: &str = " a agli ai al alla alle anche c che chi ci come con cosa cui d da dal dalla dei del della delle di do dove è e ed era erano fa \
    gli ha hai hanno ho i il in io l la le lei lo loro lui ma me mi mia mie miei mio ne nei nel nella noi non nostro o per perché più qual \
    quale quali quando quanto quella quello questa questo s se si sei sia sono su sua sue sul sulla suo ti tra tu tua tuo un una uno voi ";
const PORTUGUESE: &str = " a à ao aos as às até com como da das de dela dele do dos e é ela elas ele eles em entre era eram essa esse esta está este \
    eu foi foram há isso isto já lhe mais mas me meu meus minha muito na não nas nem no nos nós o onde os ou para pela pelo por porque qual \
    quais quando quanto que quê quem se sem ser seu seus só sua suas são também te tem tu um uma você vocês ";
const DUTCH: &str = " aan al als bij dan dat de deze die dit door dus een en er geen had heb hebben heeft het hier hij hoe hun ik in is ja je jij jou \
    kan kon maar me met mij mijn na naar niet nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit uw van veel voor waar \
    waarom wanneer waren was wat we wel welk welke werd wie wij wil worden ze zich zij zijn zo zou ";
const SWEDISH: &str = " alla att av blev bli blir de dem den denna deras dess det detta dig din dina ditt du där efter ej eller en er ett från för ha \
    hade han hans har hennes hon honom hur här i icke inte ja jag kan man med mellan men mig min mina mitt mot ni nu när någon något några \
    och om oss på samma sedan sig sin sina ska som så till under upp ut vad var varför vem vi vid vilka vilken vilket vår vara varit är över ";
const RUSSIAN: &str = " а без бы был была были было быть в вам вас весь во вот все всё вы где да даже для до его ее её если есть еще ещё же за и из или \
    им их к как какая какие какой какое когда кого кто ли меня мне мой моя моё мои мы на над нам нас не него нее нет ни них но ну о об он \
    она они оно от по под почему при про с сам свой себя со так там тебя тем то тоже тот ты у уже что чтобы чем чём эта эти это этот я ";

impl Language {
    /// The language of which most of `words` are stop words, English among equals, and how many.
    pub(crate) fn of_stop_words(words: &[&str]) -> (Self, usize) {
        let mut best = (Self::English, 0);
        for language in Self::ALL {
            let count = words.iter().filter(|word| language.is_stop_word(word)).count();
            if count > best.1 {
                best = (language, count);
            }
        }
        best
    }

    /// Whether a word (in lower case) says nothing of what is looked for: an article, say, a pronoun, or a question word.
    pub fn is_stop_word(self, word: &str) -> bool {
        let list = match self {
            Self::English => ENGLISH,
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::Spanish => SPANISH,
            Self::Italian => ITALIAN,
            Self::Portuguese => PORTUGUESE,
            Self::Dutch => DUTCH,
            Self::Swedish => SWEDISH,
            Self::Russian => RUSSIAN,
        };
        list.split(' ').any(|small| small == word && !word.is_empty())
    }
}
